// A video of the replay, recorded by the browser while it plays once from the beginning.
import type { App } from './app';
import { save } from './dom';
import type { Player } from './player';

const kinds = ['video/mp4;codecs=avc1.640028', 'video/webm;codecs=vp9', 'video/webm'];

export function videoRecorder(app: App, player: Player): (() => void) | null {
  if (typeof MediaRecorder === 'undefined' || !('captureStream' in app.stage.canvas)) return null;
  const kind = kinds.find((each) => MediaRecorder.isTypeSupported(each));
  if (!kind) return null;
  let busy = false;
  return () => {
    if (busy) return;
    busy = true;
    const recorder = new MediaRecorder(app.stage.canvas.captureStream(60), {
      mimeType: kind,
      videoBitsPerSecond: 16e6,
    });
    const parts: Blob[] = [];
    recorder.ondataavailable = (event) => parts.push(event.data);
    const { loop } = player;
    recorder.onstop = () => {
      busy = false;
      player.loop = loop;
      document.body.classList.remove('recording');
      save(`almond.${kind.includes('mp4') ? 'mp4' : 'webm'}`, new Blob(parts, { type: kind }));
    };
    document.body.classList.add('recording');
    player.loop = false;
    player.seek(player.begin);
    recorder.start();
    player.play(true);
    const watch = window.setInterval(() => {
      if (player.playing) return;
      window.clearInterval(watch);
      recorder.stop();
    }, 50);
  };
}
