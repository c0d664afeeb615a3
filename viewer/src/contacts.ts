// Contact points, force arrows and friction cones of one scene, all as instances.
import * as THREE from 'three';
import type { Contacts, Geom } from './format';

export interface ContactLook {
  contacts: boolean;
  forces: boolean;
  cones: boolean;
  colorBy: 'mode' | 'residual';
  arrowScale: number;
  arrowLog: boolean;
  markScale: number;
}

/** Open, stick, slip: told apart by every kind of colour vision. */
export const modeColors = ['#8a929c', '#1b87cf', '#f08c00'];
export const modeNames = ['open', 'stick', 'slip'];
export const untold = '#8a929c'; // of a contact without a residual
export const residualStops = ['#5b3c99', '#3f6bb0', '#21918c', '#5ec962', '#fde725'];

/** Powers of ten between which residuals are coloured. */
export interface ResidualRange {
  low: number;
  high: number;
}

/** Of all residuals together, so that a colour means the same everywhere; `null` where none is told. */
export function residualRange(residuals: Float32Array[]): ResidualRange | null {
  let low = Infinity;
  let high = -Infinity;
  for (const residual of residuals) {
    const stride = Math.max(1, Math.floor(residual.length / 20000));
    for (let i = 0; i < residual.length; i += stride) {
      const r = residual[i];
      if (!(r > 0) || !Number.isFinite(r)) continue;
      low = Math.min(low, r);
      high = Math.max(high, r);
    }
  }
  if (!(high > 0)) return null;
  const top = Math.ceil(Math.log10(high));
  return { low: Math.max(Math.floor(Math.log10(low)), top - 8, -16), high: top };
}

const stops = residualStops.map((text) => new THREE.Color(text));
const modes = modeColors.map((text) => new THREE.Color(text));
const grey = new THREE.Color(untold);

function residualColor(residual: number, range: ResidualRange, out: THREE.Color): THREE.Color {
  if (Number.isNaN(residual)) return out.copy(grey);
  const span = Math.max(1, range.high - range.low);
  const s = residual > 0 ? (Math.log10(residual) - range.low) / span : 0;
  const at = Math.min(1, Math.max(0, s)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  return out.copy(stops[i]).lerp(stops[i + 1], at - i);
}

/** Instances drawn twice: solid where they are seen, as a ghost where a body hides them. */
class Layer {
  readonly solid: THREE.InstancedMesh;
  readonly ghost: THREE.InstancedMesh | null = null;

  constructor(
    parent: THREE.Group,
    geometry: THREE.BufferGeometry,
    material: THREE.Material,
    capacity: number,
    ghostly: boolean,
    order: number,
  ) {
    this.solid = new THREE.InstancedMesh(geometry, material, capacity);
    this.solid.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * capacity), 3);
    this.solid.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    this.solid.instanceColor.setUsage(THREE.DynamicDrawUsage);
    this.solid.frustumCulled = false;
    this.solid.renderOrder = order;
    parent.add(this.solid);
    if (ghostly) {
      const faint = material.clone();
      faint.onBeforeCompile = material.onBeforeCompile; // clones do not take it over
      faint.transparent = true;
      faint.opacity = 0.32;
      faint.depthWrite = false;
      faint.depthFunc = THREE.GreaterDepth;
      this.ghost = new THREE.InstancedMesh(geometry, faint, capacity);
      this.ghost.instanceMatrix = this.solid.instanceMatrix;
      this.ghost.instanceColor = this.solid.instanceColor;
      this.ghost.frustumCulled = false;
      this.ghost.renderOrder = order;
      parent.add(this.ghost);
    }
  }

  put(i: number, matrix: THREE.Matrix4, color: THREE.Color): void {
    matrix.toArray(this.solid.instanceMatrix.array, 16 * i);
    color.toArray(this.solid.instanceColor!.array, 3 * i);
  }

  finish(count: number): void {
    for (const mesh of [this.solid, this.ghost]) {
      if (!mesh) continue;
      mesh.count = count;
      mesh.visible = count > 0;
    }
    this.solid.instanceMatrix.needsUpdate = true;
    this.solid.instanceColor!.needsUpdate = true;
  }

  dispose(): void {
    for (const mesh of [this.solid, this.ghost]) {
      if (!mesh) continue;
      mesh.removeFromParent();
      mesh.dispose();
      (mesh.material as THREE.Material).dispose();
    }
  }
}

const zAxis = new THREE.Vector3(0, 0, 1);
const upright = (geometry: THREE.BufferGeometry) => geometry.rotateX(Math.PI / 2);

export class ContactMarks {
  readonly group = new THREE.Group();
  range: ResidualRange = { low: -12, high: -6 };
  reference = 1; // the force [N] an arrow of ordinary length stands for
  private layers: { point: Layer; shaft: Layer; head: Layer; cone: Layer } | null = null;
  private capacity = 0;
  private ring: THREE.Mesh;
  private shapes = {
    point: new THREE.SphereGeometry(1, 16, 12),
    shaft: upright(new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0)),
    head: upright(new THREE.ConeGeometry(1, 1, 16).translate(0, 0.5, 0)),
    cone: upright(new THREE.ConeGeometry(1, 1, 40, 1, true).rotateX(Math.PI).translate(0, 0.5, 0)),
  };

  constructor(
    private size: number, // marks are drawn in proportion to this [m]
    private geoms: Geom[],
  ) {
    const material = new THREE.MeshBasicMaterial({
      color: '#ffd23f',
      transparent: true,
      opacity: 0.55,
      depthTest: false,
    });
    this.ring = new THREE.Mesh(this.shapes.point, material);
    this.ring.renderOrder = 9;
    this.ring.visible = false;
    this.group.add(this.ring);
  }

  /** Marks one contact, or none for -1. */
  highlight(contacts: Contacts, i: number): void {
    this.ring.visible = i >= 0 && i < contacts.count;
    if (!this.ring.visible) return;
    this.ring.position.fromArray(contacts.position, 3 * i);
    this.ring.scale.setScalar(0.03 * this.size);
  }

  set(contacts: Contacts, look: ContactLook): void {
    const wanted = look.contacts || look.forces || look.cones ? contacts.count : 0;
    if (wanted > this.capacity || !this.layers) this.grow(wanted);
    const { point, shaft, head, cone } = this.layers!;
    const color = new THREE.Color();
    const matrix = new THREE.Matrix4();
    const turn = new THREE.Quaternion();
    const at = new THREE.Vector3();
    const normal = new THREE.Vector3();
    const force = new THREE.Vector3();
    const scale = new THREE.Vector3();
    const unit = this.size * look.markScale;
    let points = 0;
    let arrows = 0;
    let cones = 0;
    for (let i = 0; i < wanted; ++i) {
      at.fromArray(contacts.position, 3 * i);
      normal.fromArray(contacts.normal, 3 * i).normalize();
      force.fromArray(contacts.force, 3 * i);
      if (this.pushesGround(contacts, i)) {
        normal.negate();
        force.negate();
      }
      if (look.colorBy === 'mode') color.copy(modes[contacts.mode[i]] ?? modes[0]);
      else residualColor(contacts.residual[i], this.range, color);
      const closed = contacts.mode[i] !== 0;
      if (look.contacts) {
        scale.setScalar(unit * (closed ? 0.0105 : 0.007));
        point.put(points++, matrix.compose(at, turn.identity(), scale), color);
      }
      const size = force.length();
      if (look.forces && size > 0) {
        const length = this.arrowLength(size, look);
        const headLength = Math.min(0.045 * unit, 0.6 * length);
        turn.setFromUnitVectors(zAxis, force.divideScalar(size));
        const thin = 0.0045 * unit;
        shaft.put(arrows, matrix.compose(at, turn, scale.set(thin, thin, length - headLength)), color);
        at.addScaledVector(force, length - headLength);
        head.put(arrows++, matrix.compose(at, turn, scale.set(0.3 * headLength, 0.3 * headLength, headLength)), color);
        at.fromArray(contacts.position, 3 * i);
      }
      if (look.cones && closed && contacts.mu[i] > 0) {
        const mu = contacts.mu[i];
        const height = (0.085 * unit) / Math.sqrt(1 + mu * mu);
        turn.setFromUnitVectors(zAxis, normal);
        cone.put(cones++, matrix.compose(at, turn, scale.set(mu * height, mu * height, height)), color);
      }
    }
    point.finish(points);
    shaft.finish(arrows);
    head.finish(arrows);
    cone.finish(cones);
  }

  // The file gives the force on the second geom. Where that is the ground, what acts on the body is more telling.
  private pushesGround(contacts: Contacts, i: number): boolean {
    if (!contacts.geoms) return false;
    const a = this.geoms[contacts.geoms[2 * i]];
    const b = this.geoms[contacts.geoms[2 * i + 1]];
    return !!a && !!b && b.body < 0 && a.body >= 0;
  }

  private arrowLength(force: number, look: ContactLook): number {
    const ratio = force / this.reference;
    const relative = look.arrowLog ? Math.log10(1 + 99 * ratio) / 2 : Math.min(ratio, 4);
    return 0.25 * this.size * look.arrowScale * relative;
  }

  private grow(wanted: number): void {
    this.capacity = Math.max(64, Math.ceil(1.5 * wanted));
    if (this.layers) for (const layer of Object.values(this.layers)) layer.dispose();
    const solid = () => glowing(new THREE.MeshLambertMaterial());
    const glass = new THREE.MeshBasicMaterial({
      transparent: true,
      opacity: 0.17,
      side: THREE.DoubleSide,
      depthWrite: false,
    });
    const make = (geometry: THREE.BufferGeometry, material: THREE.Material, ghostly: boolean, order: number) =>
      new Layer(this.group, geometry, material, this.capacity, ghostly, order);
    this.layers = {
      point: make(this.shapes.point, solid(), true, 4),
      shaft: make(this.shapes.shaft, solid(), true, 4),
      head: make(this.shapes.head, solid(), true, 4),
      cone: make(this.shapes.cone, glass, true, 3),
    };
  }

  dispose(): void {
    if (this.layers) for (const layer of Object.values(this.layers)) layer.dispose();
    for (const shape of Object.values(this.shapes)) shape.dispose();
    (this.ring.material as THREE.Material).dispose();
  }
}

/** Lit by the scene, and by themselves: their colours mean something, also in the shade. */
function glowing(material: THREE.MeshLambertMaterial): THREE.MeshLambertMaterial {
  material.onBeforeCompile = (shader) => {
    shader.fragmentShader = shader.fragmentShader
      .replace(
        '#include <color_fragment>',
        '#include <color_fragment>\nvec3 own = diffuseColor.rgb;\ndiffuseColor.rgb *= 0.3;',
      )
      .replace(
        '#include <emissivemap_fragment>',
        '#include <emissivemap_fragment>\ntotalEmissiveRadiance += 0.68 * own;',
      );
  };
  return material;
}
