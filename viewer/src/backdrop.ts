// Backgrounds: soft gradients for light and dark, or one plain colour for figures.
import * as THREE from 'three';
import type { FloorColors } from './floor';

export function isDark(background: string): boolean {
  if (background === 'auto') return matchMedia('(prefers-color-scheme: dark)').matches;
  if (background === 'transparent') return false;
  const { r, g, b } = new THREE.Color(background);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.18;
}

const gradients = new Map<string, THREE.Texture>();

function gradient(top: string, bottom: string): THREE.Texture {
  const key = top + bottom;
  const known = gradients.get(key);
  if (known) return known;
  const canvas = document.createElement('canvas');
  canvas.width = 4;
  canvas.height = 512;
  const g = canvas.getContext('2d')!;
  const ramp = g.createLinearGradient(0, 0, 0, canvas.height);
  ramp.addColorStop(0, top);
  ramp.addColorStop(1, bottom);
  g.fillStyle = ramp;
  g.fillRect(0, 0, canvas.width, canvas.height);
  const texture = new THREE.CanvasTexture(canvas);
  texture.colorSpace = THREE.SRGBColorSpace;
  gradients.set(key, texture);
  return texture;
}

export function backdrop(name: string): { background: THREE.Texture | THREE.Color | null; floor: FloorColors } {
  const dark = isDark(name);
  const floor = dark ? { base: '#3f434a', line: '#666d77' } : { base: '#d9dde2', line: '#a3acb7' };
  if (name === 'transparent') return { background: null, floor: { base: '#f3f4f6', line: '#b4bcc6' } };
  // A figure's floor is hardly there: shadows and a fine grid on the paper's own colour.
  const plain = dark ? floor : { base: '#f3f4f6', line: '#b4bcc6' };
  if (name !== 'auto') return { background: new THREE.Color(name), floor: plain };
  return { background: dark ? gradient('#23272e', '#15171b') : gradient('#f7f8fa', '#e3e7ec'), floor };
}
