// Decodes a replay: "almondR1", a JSON header, and binary sections the header points into (FORMAT.md).
// Everything that does not fit is refused with a sentence a user can act on.

export type NumberType = 'f64' | 'f32' | 'i32' | 'u32' | 'i16' | 'u16' | 'u8';
export type Numbers = Float64Array | Float32Array | Int32Array | Uint32Array | Int16Array | Uint16Array | Uint8Array;

export interface ArrayRef {
  type: NumberType;
  offset: number;
  length: number;
  delta?: number;
  shuffle?: boolean;
  scale?: number;
}

export interface Body {
  name: string;
  parent: number;
  mass: number;
  com: number[];
}

export type Kind = 'sphere' | 'box' | 'capsule' | 'cylinder' | 'cone' | 'ellipsoid' | 'plane' | 'mesh';

export interface Geom {
  name: string;
  body: number;
  role: 'collision' | 'visual' | 'both';
  kind: Kind;
  mesh?: number;
  size: number[];
  position: number[];
  quaternion: number[];
  color: number[] | null;
}

export interface Mesh {
  positions: Float32Array;
  indices: Uint32Array;
}

/** Contacts of one moment; the arrays may be views into those of a whole replay. */
export interface Contacts {
  count: number;
  position: Float32Array;
  normal: Float32Array;
  force: Float32Array;
  mode: Uint8Array;
  residual: Float32Array;
  mu: Float32Array;
  geoms: Uint32Array | null;
}

export interface Series {
  name: string;
  unit: string;
  log: boolean;
  time: Float64Array;
  values: Float32Array;
}

export interface Trace {
  solver: string;
  status: string;
  iterations: number[];
  time_ms: number[];
  residual: number[];
}

export interface InsideContact {
  names: string;
  mode: string | number;
  gap_mm: number;
  normal_force: number;
  residual: number;
}

export interface Inside {
  step: number;
  file?: string;
  data?: Uint8Array;
  traces?: Trace[];
  contacts?: InsideContact[];
}

export interface Replay {
  title: string;
  facts: [string, string][];
  dt: number;
  gravity: number[];
  up: number[];
  bodies: Body[];
  meshes: Mesh[];
  geoms: Geom[];
  /** Body that stays in the middle of the picture; -1: none. */
  follow: number;
  frames: number;
  step: Uint32Array;
  time: Float64Array;
  /** frames × bodies × 3, still the integers of the file: metres are positionScale times these. */
  position: Numbers;
  positionScale: number;
  /** frames × bodies × 4 (w, x, y, z), to be normalised. */
  quaternion: Numbers;
  contactStart: Uint32Array | null;
  contacts: Contacts | null;
  series: Series[];
  inside: Inside[];
}

export class FormatError extends Error {}

const maker = {
  f64: Float64Array,
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
  i16: Int16Array,
  u16: Uint16Array,
  u8: Uint8Array,
};

/** Reads arrays out of the sections that follow the header. */
class Sections {
  constructor(
    private buffer: ArrayBuffer,
    private base: number,
  ) {}

  read(ref: ArrayRef | undefined, what: string, length?: number): Numbers {
    if (!ref || typeof ref !== 'object') throw new FormatError(`the replay has no "${what}"`);
    const make = maker[ref.type];
    if (!make) throw new FormatError(`"${what}" has the unknown type "${ref.type}"`);
    if (length !== undefined && ref.length !== length)
      throw new FormatError(`"${what}" has ${ref.length} numbers, expected ${length}`);
    const size = make.BYTES_PER_ELEMENT;
    const start = this.base + ref.offset;
    const inside = Number.isInteger(ref.offset) && ref.offset >= 0 && ref.offset % 8 === 0;
    if (!inside || !(ref.length >= 0) || start + ref.length * size > this.buffer.byteLength)
      throw new FormatError(`"${what}" lies outside the file: the replay is cut off or damaged`);
    let out: Numbers;
    if (ref.shuffle && size > 1) {
      out = unshuffle(new Uint8Array(this.buffer, start, ref.length * size), ref.length, make);
    } else {
      out = new make(this.buffer, start, ref.length);
      if (ref.delta) out = out.slice();
    }
    if (ref.delta) runningSum(out, ref.delta, what);
    return out;
  }

  floats(ref: ArrayRef | undefined, what: string, length?: number): Float32Array {
    const raw = this.read(ref, what, length);
    const scale = ref!.scale ?? 1;
    if (raw instanceof Float32Array && scale === 1) return raw;
    return Float32Array.from(raw, (value) => value * scale);
  }

  doubles(ref: ArrayRef | undefined, what: string, length?: number): Float64Array {
    const raw = this.read(ref, what, length);
    const scale = ref!.scale ?? 1;
    if (raw instanceof Float64Array && scale === 1) return raw;
    return Float64Array.from(raw, (value) => value * scale);
  }

  whole(ref: ArrayRef | undefined, what: string, length?: number): Uint32Array {
    const raw = this.read(ref, what, length);
    return raw instanceof Uint32Array ? raw : Uint32Array.from(raw);
  }

  bytes(ref: ArrayRef | undefined, what: string, length?: number): Uint8Array {
    const raw = this.read(ref, what, length);
    return raw instanceof Uint8Array ? raw : Uint8Array.from(raw);
  }
}

function unshuffle(planes: Uint8Array, length: number, make: (typeof maker)[NumberType]): Numbers {
  const size = make.BYTES_PER_ELEMENT;
  const out = new Uint8Array(length * size);
  for (let b = 0; b < size; ++b) {
    const plane = planes.subarray(b * length, (b + 1) * length);
    for (let i = 0, o = b; i < length; ++i, o += size) out[o] = plane[i];
  }
  return new make(out.buffer);
}

// Typed integer arrays wrap on assignment, which is the modulo the format asks for.
function runningSum(values: Numbers, stride: number, what: string): void {
  if (values instanceof Float32Array || values instanceof Float64Array || !Number.isInteger(stride) || stride < 1)
    throw new FormatError(`"${what}" cannot be stored as differences`);
  for (let i = stride; i < values.length; ++i) values[i] += values[i - stride];
}

/** Decodes a whole replay from the unpacked bytes. */
export function decodeReplay(buffer: ArrayBuffer): Replay {
  const magic = buffer.byteLength >= 12 ? new TextDecoder().decode(new Uint8Array(buffer, 0, 8)) : '';
  if (magic !== 'almondR1') {
    if (magic.startsWith('almondR'))
      throw new FormatError(`the replay has version ${magic.slice(7)}; this page reads 1`);
    throw new FormatError('the data does not begin with "almondR1": not an Almond replay, or damaged');
  }
  const length = new DataView(buffer).getUint32(8, true);
  if (12 + length > buffer.byteLength || (12 + length) % 8 !== 0)
    throw new FormatError('the header does not fit into the data: the replay is cut off or damaged');
  let header: any;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, length)));
  } catch (error) {
    throw new FormatError(`the header is not valid JSON: ${(error as Error).message}`);
  }
  return readHeader(header, new Sections(buffer, 12 + length));
}

function readHeader(header: any, sections: Sections): Replay {
  const bodies: Body[] = header.bodies ?? [];
  const geoms: Geom[] = header.geoms ?? [];
  const meshes: Mesh[] = (header.meshes ?? []).map((mesh: any, i: number) => ({
    positions: sections.floats(mesh.positions, `meshes[${i}].positions`),
    indices: sections.whole(mesh.indices, `meshes[${i}].indices`),
  }));
  geoms.forEach((geom, i) => {
    if (geom.body >= bodies.length) throw new FormatError(`geoms[${i}] hangs on body ${geom.body} of ${bodies.length}`);
    if (geom.kind === 'mesh' && !meshes[geom.mesh ?? -1])
      throw new FormatError(`geoms[${i}] shows mesh ${geom.mesh} of ${meshes.length}`);
  });
  const frames = header.frames;
  const count: number = frames?.count ?? 0;
  if (!(count >= 1)) throw new FormatError('the replay has no frames');
  const time = sections.doubles(frames.time, 'frames.time', count);
  const replay: Replay = {
    title: header.title ?? 'Almond',
    facts: header.facts ?? [],
    dt: header.dt ?? 0,
    gravity: header.gravity ?? [0, 0, -9.81],
    up: header.up ?? [0, 0, 1],
    bodies,
    meshes,
    geoms,
    follow: header.follow in bodies ? Number(header.follow) : -1,
    frames: count,
    step: sections.whole(frames.step, 'frames.step', count),
    time,
    position: sections.read(frames.position, 'frames.position', count * bodies.length * 3),
    positionScale: frames.position.scale ?? 1,
    quaternion: sections.read(frames.quaternion, 'frames.quaternion', count * bodies.length * 4),
    contactStart: null,
    contacts: null,
    series: [],
    inside: [],
  };
  readContacts(header.contacts, sections, replay);
  readSeries(header, sections, replay);
  replay.inside = (header.inside ?? []).map((record: any, i: number) => ({
    ...record,
    data: record.data ? sections.bytes(record.data, `inside[${i}].data`) : undefined,
  }));
  return replay;
}

function readContacts(contacts: any, sections: Sections, replay: Replay): void {
  if (!contacts) return;
  const start = sections.whole(contacts.start, 'contacts.start', replay.frames + 1);
  const count = start[replay.frames];
  for (let i = 0; i < replay.frames; ++i)
    if (start[i] > start[i + 1]) throw new FormatError('"contacts.start" does not increase: the replay is damaged');
  replay.contactStart = start;
  replay.contacts = {
    count,
    position: sections.floats(contacts.position, 'contacts.position', 3 * count),
    normal: sections.floats(contacts.normal, 'contacts.normal', 3 * count),
    force: sections.floats(contacts.force, 'contacts.force', 3 * count),
    mode: sections.bytes(contacts.mode, 'contacts.mode', count),
    residual: contacts.residual
      ? sections.floats(contacts.residual, 'contacts.residual', count)
      : new Float32Array(count).fill(NaN),
    mu: sections.floats(contacts.mu, 'contacts.mu', count),
    geoms: contacts.geoms ? sections.whole(contacts.geoms, 'contacts.geoms', 2 * count) : null,
  };
}

function readSeries(header: any, sections: Sections, replay: Replay): void {
  if (!header.series?.length) return;
  const time = sections.doubles(header.series_time, 'series_time');
  replay.series = header.series.map((series: any, i: number) => ({
    name: series.name ?? `series ${i}`,
    unit: series.unit ?? '',
    log: !!series.log,
    time,
    values: sections.floats(series.values, `series[${i}].values`, time.length),
  }));
}
