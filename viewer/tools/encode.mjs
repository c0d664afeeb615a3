// Writes replays: the format of FORMAT.md in a few lines, for tests and for tools that want to make their own.
import { gzipSync } from 'node:zlib';

const makers = {
  f64: Float64Array,
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
  i16: Int16Array,
  u16: Uint16Array,
  u8: Uint8Array,
};

/** Collects arrays and hands out what the header says about them. */
export class Sections {
  parts = [];
  offset = 0;

  /** Options: scale, delta (distance of the element subtracted), shuffle (bytes plane by plane). */
  add(type, values, { scale, delta, shuffle } = {}) {
    let data = makers[type].from(values, scale ? (value) => Math.round(value / scale) : undefined);
    const ref = { type, offset: this.offset, length: data.length };
    if (delta) {
      const out = data.slice();
      for (let i = delta; i < data.length; ++i) out[i] = data[i] - data[i - delta];
      data = out;
      ref.delta = delta;
    }
    let bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (shuffle) {
      const size = data.BYTES_PER_ELEMENT;
      const planes = new Uint8Array(bytes.length);
      for (let i = 0; i < data.length; ++i)
        for (let b = 0; b < size; ++b) planes[b * data.length + i] = bytes[i * size + b];
      bytes = planes;
      ref.shuffle = true;
    }
    if (scale) ref.scale = scale;
    this.parts.push(Buffer.from(bytes));
    const padding = (8 - (bytes.length % 8)) % 8;
    if (padding) this.parts.push(Buffer.alloc(padding));
    this.offset += bytes.length + padding;
    return ref;
  }
}

/** The bytes of a replay, not yet packed. */
export function blob(header, sections) {
  let text = Buffer.from(JSON.stringify(header), 'utf8');
  const padding = (8 - ((12 + text.length) % 8)) % 8;
  text = Buffer.concat([text, Buffer.alloc(padding, ' ')]);
  const start = Buffer.alloc(12);
  start.write('almondR1', 'ascii');
  start.writeUInt32LE(text.length, 8);
  return Buffer.concat([start, text, ...sections.parts]);
}

/** Puts replays into the viewer's page. */
export function page(viewer, blobs) {
  const scripts = blobs.map(
    (each) => `<script type="application/x-almond-replay">${gzipSync(each).toString('base64')}</script>`,
  );
  return viewer.replace('<!--ALMOND-DATA-->', () => scripts.join('\n'));
}
