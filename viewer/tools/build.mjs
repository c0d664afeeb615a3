// Bundles the viewer into dist/index.html: one file, with script and style inside and nothing fetched from elsewhere.
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const placeholder = '<!--ALMOND-DATA-->';

async function bundle(entry, loader) {
  const result = await build({
    entryPoints: [join(root, 'src', entry)],
    absWorkingDir: root, // to which inputs are relative
    bundle: true,
    minify: true,
    write: false,
    target: 'es2022',
    format: 'iife',
    legalComments: 'none', // all of them are on top, in full
    metafile: true,
    outdir: root,
    loader,
  });
  const inputs = Object.values(result.metafile.outputs).flatMap((output) => Object.keys(output.inputs));
  return { text: result.outputFiles[0].text, inputs };
}

/** The licence of the viewer, and of every package that is part of the bundle: who gives a page away gives them along. */
async function licences(inputs) {
  const packages = inputs.map((path) => path.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//)).filter(Boolean);
  const places = new Map(packages.map(([folder, name]) => [name, folder]));
  const texts = [`Almond\n\n${await readFile(join(root, '..', 'LICENSE'), 'utf8')}`];
  for (const [name, folder] of [...places].sort()) {
    texts.push(`${name}\n\n${await readFile(join(root, folder, 'LICENSE'), 'utf8')}`);
  }
  return `/*!\n${texts.map((text) => text.trim()).join('\n\n----\n\n')}\n*/\n`;
}

const main = await bundle('main.ts', {});
const style = (await bundle('style.css', {})).text;
const script = (await licences(main.inputs)) + main.text;
// Inside a script element these would end it, or be read as markup.
if (/<\/script|<!--/i.test(script)) throw new Error('the bundle contains text that HTML would misread');

let page = await readFile(join(root, 'src', 'index.html'), 'utf8');
page = page.replace(/\n\s+/g, '\n');
page = page.replace('/*STYLE*/', () => style.trim()).replace('/*SCRIPT*/', () => script.trim());
// Nothing but this script runs, and nothing is fetched but from the page's own server: whatever a replay holds, and
// wherever it came from.
const source = page.match(/<script>([^]*)<\/script>/)[1];
const digest = createHash('sha256').update(source, 'utf8').digest('base64');
const policy = [
  "default-src 'none'",
  `script-src 'sha256-${digest}'`,
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  'media-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');
page = page.replace('POLICY', () => policy);
if (page.split(placeholder).length !== 2) throw new Error(`the page must contain ${placeholder} exactly once`);
await mkdir(join(root, 'dist'), { recursive: true });
await writeFile(join(root, 'dist', 'index.html'), page);
console.log(`dist/index.html: ${(page.length / 1024).toFixed(0)} kB`);
