// A toy world for sample data: bodies made of balls that push each other apart by springs. It looks like a falling
// pile and gives contacts of every mode; it is not how Almond computes anything.

/** Numbers that look random and are the same on every machine. */
export function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

export function rotate([w, x, y, z], v) {
  const t = cross([x, y, z], v).map((c) => 2 * c);
  const u = cross([x, y, z], t);
  return [v[0] + w * t[0] + u[0], v[1] + w * t[1] + u[1], v[2] + w * t[2] + u[2]];
}

/** Balls that fill a geom: [x, y, z, radius]. */
export function fill(kind, size, points = []) {
  const balls = [];
  const ring = (count, radius, z, r) => {
    for (let i = 0; i < count; ++i) {
      const a = (2 * Math.PI * i) / count;
      balls.push([radius * Math.cos(a), radius * Math.sin(a), z, r]);
    }
  };
  if (kind === 'sphere') balls.push([0, 0, 0, size[0]]);
  if (kind === 'box') {
    const r = 0.3 * Math.min(...size);
    for (const x of [-1, 0, 1])
      for (const y of [-1, 0, 1])
        for (const z of [-1, 0, 1])
          if (x || y || z) balls.push([x * (size[0] - r), y * (size[1] - r), z * (size[2] - r), r]);
    balls.push([0, 0, 0, Math.min(...size)]);
  }
  if (kind === 'capsule') for (const s of [-1, -0.5, 0, 0.5, 1]) balls.push([0, 0, s * size[1], size[0]]);
  if (kind === 'cylinder' || kind === 'cone') {
    const [r, half] = size;
    const small = 0.2 * r;
    ring(12, r - small, -half + small, small);
    if (kind === 'cylinder') {
      ring(12, r - small, half - small, small);
      for (const s of [-1, 0, 1]) balls.push([0, 0, s * Math.max(0, half - r), Math.min(r, half)]);
    } else {
      balls.push([0, 0, half - 2 * small, 0.6 * small], [0, 0, -0.3 * half, 0.45 * r]);
      ring(8, 0.45 * r, 0, small);
    }
  }
  if (kind === 'ellipsoid') {
    const [a, b] = size; // longest first, round about x
    const reach = (a * a - b * b) / a;
    for (const s of [-1, -0.6, 0, 0.6, 1])
      balls.push([s * reach, 0, 0, b * Math.sqrt(1 - (s * reach) ** 2 / (a * a - b * b))]);
  }
  for (const p of points) {
    const length = Math.hypot(...p);
    balls.push([...p.map((c) => c * (1 - 0.012 / length)), 0.012]);
  }
  if (points.length) balls.push([0, 0, 0, 0.8 * Math.min(...points.map((p) => Math.hypot(...p)))]);
  return balls;
}

/** Lets the bodies fall; calls `report(time, bodies, contacts)` after every interval. */
export function simulate(bodies, { mu, seconds, interval, report }) {
  const dt = 1 / 6000;
  const stiffness = 4e4;
  for (const body of bodies) {
    body.v = [0, 0, 0];
    body.w = body.w ?? [0, 0, 0];
    body.reach = Math.max(...body.balls.map((b) => Math.hypot(b[0], b[1], b[2]) + b[3]));
    body.inertia = 0.35 * body.mass * body.reach ** 2;
  }
  const steps = Math.round(seconds / dt);
  const every = Math.round(interval / dt);
  for (let s = 0; s <= steps; ++s) {
    for (const body of bodies) {
      body.f = [0, 0, -9.81 * body.mass];
      body.t = [0, 0, 0];
      body.world = body.balls.map((b) => {
        const r = rotate(body.q, b);
        return [r[0] + body.p[0], r[1] + body.p[1], r[2] + body.p[2], b[3]];
      });
    }
    const contacts = [];
    const touch = (a, b, point, normal, gap) => {
      if (gap > 0.002) return;
      const speed = (body) => {
        if (!body) return [0, 0, 0];
        const r = point.map((c, k) => c - body.p[k]);
        return cross(body.w, r).map((c, k) => c + body.v[k]);
      };
      const va = speed(a);
      const relative = speed(b).map((c, k) => c - va[k]); // of b against a
      const vn = dot(relative, normal);
      const mass = a ? Math.min(a.mass, b.mass) : b.mass;
      const fn = gap < 0 ? Math.max(0, -stiffness * gap - 0.5 * Math.sqrt(stiffness * mass) * vn) : 0;
      const vt = relative.map((c, k) => c - vn * normal[k]);
      const slide = Math.hypot(...vt);
      const ft = Math.min(mu * fn, 60 * mass * 10 * slide);
      const force = normal.map((c, k) => c * fn - (slide > 0 ? (ft * vt[k]) / slide : 0));
      for (const [body, sign] of [
        [b, 1],
        [a, -1],
      ]) {
        if (!body) continue;
        const r = point.map((c, k) => c - body.p[k]);
        const torque = cross(r, force);
        for (let k = 0; k < 3; ++k) {
          body.f[k] += sign * force[k];
          body.t[k] += sign * torque[k];
        }
      }
      contacts.push({ a, b, point, normal, gap, force, mode: fn <= 0 ? 0 : ft < 0.999 * mu * fn ? 1 : 2 });
    };
    bodies.forEach((a, i) => {
      if (a.p[2] < a.reach + 0.01)
        for (const [x, y, z, r] of a.world) if (z - r < 0.002) touch(null, a, [x, y, z - r], [0, 0, 1], z - r);
      for (let j = i + 1; j < bodies.length; ++j) {
        const b = bodies[j];
        if (Math.hypot(a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]) > a.reach + b.reach + 0.002) continue;
        for (const m of a.world)
          for (const n of b.world) {
            const d = [n[0] - m[0], n[1] - m[1], n[2] - m[2]];
            const length = Math.hypot(...d);
            const gap = length - m[3] - n[3];
            if (gap > 0.002 || length === 0) continue;
            const normal = d.map((c) => c / length);
            touch(
              a,
              b,
              m.slice(0, 3).map((c, k) => c + normal[k] * (m[3] + gap / 2)),
              normal,
              gap,
            );
          }
      }
    });
    if (s % every === 0) report(s * dt, bodies, contacts);
    for (const body of bodies) {
      for (let k = 0; k < 3; ++k) {
        body.v[k] += (dt * body.f[k]) / body.mass;
        body.w[k] = (body.w[k] + (dt * body.t[k]) / body.inertia) * (1 - 0.3 * dt);
        body.p[k] += dt * body.v[k];
      }
      const [w, x, y, z] = body.q;
      const [a, b, c] = body.w.map((each) => 0.5 * dt * each);
      const q = [
        w - a * x - b * y - c * z,
        x + a * w + b * z - c * y,
        y + b * w + c * x - a * z,
        z + c * w + a * y - b * x,
      ];
      const n = Math.hypot(...q);
      body.q = q.map((each) => each / n);
    }
  }
}
