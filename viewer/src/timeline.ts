// The bar under the picture: buttons, the slider, time and speed.
import { h } from './dom';
import { icon } from './icons';
import { speeds, type Player } from './player';

export class Timeline {
  private play = button('play', 'Play (space)', () => this.player.play());
  private slider = h('input', { type: 'range', class: 'scrub', min: '0', max: '1', step: 'any', 'aria-label': 'Time' });
  private clock = h('span', { class: 'clock' });
  private speed = h('select', { class: 'speed', 'aria-label': 'Speed', title: 'Speed (up, down)' });
  private loop = button('loop', 'Repeat', () => {
    this.player.loop = !this.player.loop;
    this.player.onChange();
  });
  private shownPlaying: boolean | null = null;

  constructor(
    parent: HTMLElement,
    private player: Player,
  ) {
    for (const s of speeds) this.speed.append(h('option', { value: String(s) }, `${s}×`));
    this.speed.addEventListener('change', () => {
      player.speed = Number(this.speed.value);
      player.onChange();
      this.speed.blur(); // the keys belong to the picture again
    });
    this.slider.min = String(player.begin);
    this.slider.max = String(player.end);
    this.slider.addEventListener('input', () => {
      player.playing = false;
      player.seek(Number(this.slider.value));
    });
    this.slider.addEventListener('change', () => this.slider.blur());
    parent.append(
      h(
        'div',
        { class: 'bar' },
        h(
          'div',
          { class: 'bar-buttons' },
          button('first', 'To the beginning (home)', () => player.seek(player.begin), 'wide-only'),
          button('back', 'One frame back (left)', () => player.stepFrames(-1)),
          this.play,
          button('forward', 'One frame on (right)', () => player.stepFrames(1)),
        ),
        this.slider,
        this.clock,
        this.speed,
        this.loop,
      ),
    );
    this.update();
  }

  update(): void {
    const { player } = this;
    if (this.shownPlaying !== player.playing) {
      this.shownPlaying = player.playing;
      this.play.innerHTML = icon(player.playing ? 'pause' : 'play');
      this.play.title = player.playing ? 'Pause (space)' : 'Play (space)';
      this.play.setAttribute('aria-label', this.play.title);
    }
    this.slider.value = String(player.time);
    const done = player.duration > 0 ? (player.time - player.begin) / player.duration : 0;
    this.slider.style.setProperty('--done', `${(100 * done).toFixed(2)}%`);
    this.clock.textContent = `${player.time.toFixed(3)} / ${player.end.toFixed(player.end < 1 ? 3 : 2)} s`;
    if (speeds.includes(player.speed)) this.speed.value = String(player.speed);
    this.loop.setAttribute('aria-pressed', String(player.loop));
  }
}

export function button(name: string, title: string, action: () => void, extra = ''): HTMLButtonElement {
  return h('button', { class: `icon ${extra}`, title, 'aria-label': title, html: icon(name), onclick: action });
}
