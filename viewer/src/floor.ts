// Infinite planes as a grid that fades out with distance and goes along with the camera.
import * as THREE from 'three';

export interface FloorColors {
  base: THREE.ColorRepresentation;
  line: THREE.ColorRepresentation;
}

export class Floor {
  readonly mesh: THREE.Mesh;
  private uniforms = {
    uCell: { value: 1 },
    uRadius: { value: 10 },
    uShift: { value: new THREE.Vector2() },
    uLine: { value: new THREE.Color() },
    uFill: { value: 1 },
  };
  private material: THREE.MeshLambertMaterial;
  private origin: THREE.Matrix4;
  private inverse: THREE.Matrix4;

  /** `frame` is the plane's pose, z its normal. Without fill only the lines are drawn: a reference, not a surface. */
  constructor(frame: THREE.Matrix4, cell: number, fill: boolean) {
    this.origin = frame.clone();
    this.inverse = frame.clone().invert();
    this.uniforms.uCell.value = cell;
    this.uniforms.uFill.value = fill ? 1 : 0;
    this.material = new THREE.MeshLambertMaterial({ transparent: true });
    this.material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.uniforms);
      shader.vertexShader = shader.vertexShader
        .replace('#include <common>', '#include <common>\nvarying vec2 vPlane;\nuniform float uRadius;')
        .replace('#include <begin_vertex>', '#include <begin_vertex>\nvPlane = position.xy * uRadius;');
      shader.fragmentShader = shader.fragmentShader
        .replace('#include <common>', `#include <common>\n${declarations}`)
        .replace('#include <color_fragment>', `#include <color_fragment>\n${grid}`);
    };
    this.mesh = new THREE.Mesh(new THREE.CircleGeometry(1, 64), this.material);
    this.mesh.receiveShadow = fill;
    this.mesh.renderOrder = -2;
    this.mesh.frustumCulled = false;
  }

  paint(colors: FloorColors): void {
    this.material.color.set(colors.base);
    this.uniforms.uLine.value.set(colors.line);
  }

  /** Keeps the drawn disc under the point looked at, the lines staying where they are in the world. */
  follow(target: THREE.Vector3, radius: number, frame?: THREE.Matrix4): void {
    if (frame) {
      this.origin.copy(frame);
      this.inverse.copy(frame).invert();
    }
    const local = target.clone().applyMatrix4(this.inverse);
    this.uniforms.uShift.value.set(local.x, local.y);
    this.uniforms.uRadius.value = radius;
    const place = new THREE.Vector3(local.x, local.y, 0).applyMatrix4(this.origin);
    this.mesh.quaternion.setFromRotationMatrix(this.origin);
    this.mesh.position.copy(place);
    this.mesh.scale.setScalar(radius);
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.material.dispose();
  }
}

const declarations = `
varying vec2 vPlane;
uniform float uCell;
uniform float uRadius;
uniform vec2 uShift;
uniform vec3 uLine;
uniform float uFill;
float gridLine(vec2 at, float cell, float width) {
  vec2 scaled = at / cell;
  vec2 step2 = fwidth(scaled);
  vec2 near = abs(fract(scaled - 0.5) - 0.5) / max(step2, vec2(1e-6));
  float line = 1.0 - min(min(near.x, near.y) / width, 1.0);
  return line * clamp(1.0 - 2.0 * max(step2.x, step2.y), 0.0, 1.0); // lines closer than pixels would only flicker
}`;

const grid = `
{
  vec2 at = vPlane + uShift;
  float minor = 0.4 * gridLine(at, uCell, 1.0);
  float major = 0.75 * gridLine(at, 5.0 * uCell, 1.3);
  float line = max(minor, major);
  float fade = 1.0 - smoothstep(0.25, 1.0, length(vPlane) / uRadius);
  diffuseColor.rgb = mix(diffuseColor.rgb, uLine, line);
  diffuseColor.a = fade * fade * mix(line, 1.0, uFill);
}`;
