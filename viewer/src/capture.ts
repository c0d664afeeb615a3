// A video of the replay, recorded by the browser while it plays once from the beginning.
import type { App } from './app';
import { notice, save } from './dom';
import type { Player } from './player';

const leastMs = 700;
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
      const video = new Blob(parts, { type: kind });
      if (video.size) save(`almond.${kind.includes('mp4') ? 'mp4' : 'webm'}`, video);
      else notice('This browser has recorded nothing. almond run --video writes a video without it.');
    };
    document.body.classList.add('recording');
    player.loop = false;
    player.seek(player.begin);
    recorder.start();
    player.play(true);
    const began = performance.now();
    const watch = window.setInterval(() => {
      // A canvas that is not drawn gives no pictures, and a recorder that was just started needs some.
      if (!player.playing) app.stage.invalidate();
      if (player.playing || performance.now() - began < leastMs) return;
      window.clearInterval(watch);
      recorder.stop();
    }, 50);
  };
}
