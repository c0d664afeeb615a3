// Small helpers for building the page by hand.

type Props = Record<string, unknown>;

/** An element with properties ("class", "on..." handlers, attributes) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string | null)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === 'class') element.className = String(value);
    else if (name === 'html') element.innerHTML = String(value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

export function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** 10⁻⁸ for -8. */
export function power(exponent: number): string {
  const digits = [...String(Math.abs(exponent))].map((d) => superscripts[Number(d)]).join('');
  return `10${exponent < 0 ? '⁻' : ''}${digits}`;
}

/** A number as short as it can be read: 3 figures, powers of ten where they help. */
export function short(value: number | undefined | null): string {
  if (value === undefined || value === null || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    let exponent = Math.floor(Math.log10(size));
    let lead = value / Math.pow(10, exponent);
    if (Math.abs(lead) >= 9.95) {
      exponent += 1;
      lead /= 10;
    }
    return `${lead.toFixed(1).replace('-', '−')}·${power(exponent)}`;
  }
  const figures = Number.isInteger(value)
    ? value.toFixed(0)
    : value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(size))));
  return figures.replace('-', '−');
}

/** A name that is too long, without its middle: what tells it from others is mostly at its end. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor((most - 1) / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/** Says something for a few seconds. */
export function notice(text: string): void {
  const element = h('div', { class: 'notice', role: 'status' }, text);
  document.body.append(element);
  setTimeout(() => element.remove(), 6000);
}

/** Hands the user a file. */
export function save(name: string, data: Blob): void {
  const url = URL.createObjectURL(data);
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
