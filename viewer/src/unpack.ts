// From the text of a script element, or the bytes of a response, to the unpacked replay.
import { decodeReplay, FormatError, type Replay } from './format';

export type Progress = (fraction: number) => void;

/** Base64 of a gzip stream. Fed to the unpacker piece by piece, so that a large file does not freeze the page. */
export async function unpackBase64(text: string, progress: Progress = () => {}): Promise<Replay> {
  const clean = /\s/.test(text.slice(0, 4096)) || /\s$/.test(text) ? text.replace(/\s+/g, '') : text;
  const piece = 1 << 20; // a multiple of 4, so that each piece is base64 by itself
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < clean.length; i += piece) {
      let binary: string;
      try {
        binary = atob(clean.slice(i, i + piece));
      } catch {
        throw new FormatError('the embedded data is not base64: the file was damaged on its way');
      }
      const bytes = new Uint8Array(binary.length);
      for (let k = 0; k < binary.length; ++k) bytes[k] = binary.charCodeAt(k);
      progress(i / clean.length);
      yield bytes;
    }
  }
  return decodeReplay(await gunzip(pieces()));
}

/** Bytes as a server sends them, packed or not. */
export async function unpackBytes(bytes: Uint8Array): Promise<Replay> {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    async function* one(): AsyncGenerator<Uint8Array> {
      yield bytes;
    }
    return decodeReplay(await gunzip(one()));
  }
  return decodeReplay(bytes.slice().buffer as ArrayBuffer);
}

async function gunzip(pieces: AsyncGenerator<Uint8Array>): Promise<ArrayBuffer> {
  if (typeof DecompressionStream === 'undefined')
    throw new FormatError('this browser cannot unpack gzip data: please use one from 2023 or later');
  const stream = new DecompressionStream('gzip');
  const writer = stream.writable.getWriter();
  // The writer's errors also arrive at the reader, except those of the pieces themselves.
  let failure: unknown = null;
  const feed = (async () => {
    try {
      for await (const piece of pieces) await writer.write(piece as Uint8Array<ArrayBuffer>);
      await writer.close();
    } catch (error) {
      failure = error;
      await writer.abort(error).catch(() => {});
    }
  })();
  const parts: Uint8Array[] = [];
  let total = 0;
  try {
    const reader = stream.readable.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      total += value.length;
    }
  } catch {
    if (failure instanceof FormatError) throw failure;
    throw new FormatError('the packed data is incomplete or damaged (gzip refuses it)');
  }
  await feed;
  const out = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out.buffer;
}
