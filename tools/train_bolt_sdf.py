#!/usr/bin/env python3
"""Trains the network of the neural M48 bolt and writes its weights.

    pip install jax numpy
    cmake --build build --target sdf_probe
    python3 tools/train_bolt_sdf.py --probe build/tests/sdf_probe --out src/almond/model/data/bolt_m48.weights

What is learnt is the threaded rod of the M48x5 6g bolt: thread, chamfer, run-out and shank; the hexagonal head is added in
C++. The truth, value and gradient, comes from the analytic function in C++ through `sdf_probe`.

A point is seen by the network as (r, |s|, s^2, z near the end, z near the run-out), where s = z - h theta, taken into half a pitch
around the nearest crest, is what a screw motion leaves unchanged. Between the end and the run-out, z has no influence by
construction. Hidden layers are squareplus, (x + sqrt(x^2 + b)) / 2: smooth, and cheap in vector registers.

The seed is fixed: the same machine and JAX version give the same weights. About ten minutes on two cores.
"""

import argparse
import struct
import subprocess
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

MAGIC, VERSION = b"ALMONDNN", 1

# Of the M48x5 6g bolt, see MetricThread::external() and make_bolt() [mm].
PITCH = 5.0
CREST, ROOT, CHAMFER_TOP = 23.965, 20.897826694930114, 20.397826694930114
RUNOUT = -97.0

# What the network sees. It is trained, and asked, where the rod's surface is within about BAND.
BAND, GUARD = 4.0, 0.05
FADE = (8.0, 14.0)  # the angle is no input near the axis
R_MID, R_SCALE = 22.3, 2.0
END = (-10.0, 5.0, 3.0)  # z is clamped to this range, and divided
OUT_OF_THREAD = (RUNOUT - 9.0, RUNOUT + 9.0, 3.0)
SHARPNESS = 0.01  # b of squareplus


def features(q):
    """(r, s, z) [mm] -> inputs of the network."""
    r, s, z = q
    t = jnp.clip((r - FADE[0]) / (FADE[1] - FADE[0]), 0.0, 1.0)
    fade = t * t * (3.0 - 2.0 * t)
    a = 4.0 / PITCH * jnp.abs(s) - 1.0  # -1 in the middle of a crest, 1 in the middle of a root
    window = lambda w: (jnp.clip(z, w[0], w[1]) - 0.5 * (w[0] + w[1])) / w[2]
    return jnp.stack([(r - R_MID) / R_SCALE, fade * a, fade * a * a, window(END), window(OUT_OF_THREAD)])


def network(layers, q):
    x = features(q)
    for A in layers[:-1]:
        y = A[:, :-1] @ x + A[:, -1]
        x = 0.5 * (y + jnp.sqrt(y * y + SHARPNESS))
    return (layers[-1][:, :-1] @ x + layers[-1][:, -1])[0]


def value_and_gradient(layers, q):
    """Distance [mm] and its gradient in the axes of r, theta, z."""
    d, g = jax.value_and_grad(network, argnums=1)(layers, q)
    h = PITCH / (2.0 * np.pi)
    return d, jnp.stack([g[0], -h / jnp.maximum(q[0], 1.0) * g[1], g[1] + g[2]])


def make_layers(key, sizes):
    """Each layer is one matrix, weights and, as its last column, biases."""
    layers = []
    for n, m in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        layers.append(jax.random.normal(sub, (m, n + 1)) * np.sqrt(2.0 / n) * (jnp.arange(n + 1) < n))
    return layers


# ---- Samples ----


def ask(probe, shape, points):
    """Distance and gradient of the analytic function; points [mm], gradient in the axes of x, y, z."""
    out = subprocess.run([probe, shape], input=(1e-3 * points).astype("<f8").tobytes(), stdout=subprocess.PIPE, check=True)
    answer = np.frombuffer(out.stdout, "<f8").reshape(-1, 4)
    return 1e3 * answer[:, 0], answer[:, 1:]


def asked_for(points):
    """Whether a point lies between the two solids between which the network answers."""
    r, z = np.hypot(points[:, 0], points[:, 1]), points[:, 2]
    over, above = r - CREST, z
    far = np.where((over > 0) & (above > 0), np.hypot(np.maximum(over, 0), np.maximum(above, 0)), np.maximum(over, above))
    core = np.maximum(r - CHAMFER_TOP, z)
    return (far < BAND + 2.0 * GUARD) & (core > -BAND - 2.0 * GUARD)


def draw(rng, count):
    """Points all over the domain: near the end, near the run-out, and along the thread and the shank between and below."""
    z = np.choose(
        rng.choice(3, count, p=(0.38, 0.32, 0.30)),
        (rng.uniform(-9.0, 4.2, count), rng.uniform(RUNOUT - 8.0, RUNOUT + 8.0, count), rng.uniform(-115.0, 0.0, count)))
    r = rng.uniform(0.0, CREST + 4.2, count)
    r = np.where(rng.random(count) < 0.9, rng.uniform(CHAMFER_TOP - 4.2, CREST + 4.2, count), r)
    theta = rng.uniform(-np.pi, np.pi, count)
    return np.stack([r * np.cos(theta), r * np.sin(theta), z], axis=1)


def make_samples(probe, rng, count):
    """q = (r, s, z), d, g in the axes of r, theta, z. Two thirds lie near the surface, at distances of 20 um to 1 mm."""
    p = draw(rng, count)
    d, g = ask(probe, "rod", p)
    near = rng.random(count) < 0.67
    wanted = rng.normal(size=count) * 10.0 ** rng.uniform(-1.7, 0.0, count)
    p -= np.where(near, d - wanted, 0.0)[:, None] * g
    p = p[asked_for(p)]
    d, g = ask(probe, "rod", p)
    r, theta = np.hypot(p[:, 0], p[:, 1]), np.arctan2(p[:, 1], p[:, 0])
    s = p[:, 2] - PITCH * theta / (2.0 * np.pi)
    s -= PITCH * np.round(s / PITCH)
    c, n = np.cos(theta), np.sin(theta)
    frame = np.stack([c * g[:, 0] + n * g[:, 1], c * g[:, 1] - n * g[:, 0], g[:, 2]], axis=1)
    f32 = lambda a: np.ascontiguousarray(a, np.float32)
    return f32(np.stack([r, s, p[:, 2]], axis=1)), f32(d), f32(frame)


# ---- Training ----

GRADIENT_WEIGHT = 0.02  # [mm^2]
STEEPNESS_WEIGHT = 1.0  # of gradients longer than 1, which break the Lipschitz bound


def loss(layers, q, d, g):
    value, gradient = jax.vmap(value_and_gradient, (None, 0))(layers, q)
    e = (value - d) / (1.0 + 0.2 * jnp.abs(d))  # what is far may be less exact
    t = jnp.sum((gradient - g) ** 2, axis=1)
    steep = jnp.maximum(jnp.sqrt(jnp.sum(gradient**2, axis=1)) - 1.0, 0.0)
    return jnp.mean(e * e + 300.0 * e**4 / (1.0 + 100.0 * e * e) + GRADIENT_WEIGHT * t / (1.0 + t) + STEEPNESS_WEIGHT * steep**2)


def precondition(G, state, step):
    """SOAP (Vyas et al. 2024): Adam in the eigenbasis of the gradients' two covariances, which a QR step follows."""
    L, R, QL, QR, M, V = state
    L, R = 0.98 * L + 0.02 * G @ G.T, 0.98 * R + 0.02 * G.T @ G
    follow = lambda Q, C: jax.lax.cond(step % 10 == 1, lambda: jnp.linalg.qr(C @ Q + 1e-30 * Q)[0], lambda: Q)
    QL, QR = follow(QL, L), follow(QR, R)
    M = 0.95 * M + 0.05 * G
    V = 0.98 * V + 0.02 * (QL.T @ G @ QR) ** 2
    turned = (QL.T @ M @ QR) / (1.0 - 0.95**step) / (jnp.sqrt(V / (1.0 - 0.98**step)) + 1e-12)
    return QL @ turned @ QR.T, (L, R, QL, QR, M, V)


def make_state(A):
    m, n = A.shape
    return jnp.zeros((m, m)), jnp.zeros((n, n)), jnp.eye(m), jnp.eye(n), jnp.zeros((m, n)), jnp.zeros((m, n))


@partial(jax.jit, static_argnames=("batch", "count"))
def train(layers, states, key, first, rates, data, batch, count):
    """`count` steps on random batches."""

    def step(carry, k):
        layers, states, key = carry
        key, sub = jax.random.split(key)
        pick = jax.random.randint(sub, (batch,), 0, len(data[1]))
        value, grads = jax.value_and_grad(loss)(layers, *(a[pick] for a in data))
        moves = [precondition(G, state, (first + k).astype(jnp.float32)) for G, state in zip(grads, states)]
        layers = [A - rates[k] * move for A, (move, _) in zip(layers, moves)]
        return (layers, [state for _, state in moves], key), value

    (layers, states, key), values = jax.lax.scan(step, (layers, states, key), jnp.arange(count))
    return layers, states, key, jnp.mean(values)


@jax.jit
def evaluate(layers, q):
    return jax.vmap(value_and_gradient, (None, 0))(layers, q)


def errors(layers, samples):
    """Distance errors [um] and angles between normals [degrees], within 2 mm of the surface."""
    q, d, g = (a[np.abs(samples[1]) < 2.0] for a in samples)
    value, gradient = (np.asarray(a) for a in evaluate(layers, q))
    gradient = gradient / np.linalg.norm(gradient, axis=1, keepdims=True)
    angle = np.degrees(2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(gradient - g, axis=1), 0.0, 1.0)))
    return 1e3 * np.abs(value - d), angle


def steepest(layers, samples):
    """By how much the longest gradient in the band exceeds 1."""
    q = samples[0][np.abs(samples[1]) < BAND]
    return float(np.linalg.norm(np.asarray(evaluate(layers, q)[1]), axis=1).max()) - 1.0


def report(layers, samples):
    e, angle = errors(layers, samples)
    return (f"distance um: mean {e.mean():.2f}, 99 % {np.percentile(e, 99):.1f}, max {e.max():.1f}; "
            f"normal degrees: mean {angle.mean():.2f}, median {np.median(angle):.2f}, 99 % {np.percentile(angle, 99):.1f}; steepest 1 + {steepest(layers, samples):.3f}")


# ---- File ----


def checksum(data):
    """FNV-1a, 64 bits, over words of 4 bytes."""
    h = 0xCBF29CE484222325
    for word in np.frombuffer(data, "<u4"):
        h = ((h ^ int(word)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def write(path, layers, slack):
    """See src/almond/model/neural_weights.hpp for the format."""
    sizes = [layers[0].shape[1] - 1] + [A.shape[0] for A in layers]
    data = MAGIC + struct.pack("<II", VERSION, len(layers)) + struct.pack(f"<{len(sizes)}I", *sizes)
    mm = [PITCH, *FADE, R_MID, R_SCALE, *END, *OUT_OF_THREAD, CREST, CHAMFER_TOP, BAND, GUARD]
    data += np.asarray([1e-3 * v for v in mm] + [1e-3, SHARPNESS, slack], "<f8").tobytes()
    for A in layers:
        data += np.asarray(A, "<f4").tobytes()
    data += struct.pack("<Q", checksum(data))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"{path}: {len(data)} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", default="build/tests/sdf_probe", help="the program sdf_probe")
    parser.add_argument("--out", type=Path, default=Path("src/almond/model/data/bolt_m48.weights"))
    parser.add_argument("--steps", type=int, default=28000)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 64, 64])
    parser.add_argument("--samples", type=int, default=3000000)
    options = parser.parse_args()

    data = [jnp.asarray(a) for a in make_samples(options.probe, np.random.default_rng(48), options.samples)]
    test = make_samples(options.probe, np.random.default_rng(49), 200000)
    layers = make_layers(jax.random.PRNGKey(48), [5, *options.hidden, 1])
    print(f"{len(data[1])} samples, {sum(A.size for A in layers)} weights", flush=True)
    states, key, start = [make_state(A) for A in layers], jax.random.PRNGKey(50), time.time()
    chunk = 250
    for first in range(1, options.steps + 1, chunk):
        t = np.arange(first, first + chunk) / options.steps
        rates = options.rate * np.minimum(1.0, 30.0 * t) * np.maximum(0.5 + 0.5 * np.cos(np.pi * t), 1e-4)
        layers, states, key, value = train(layers, states, key, first, jnp.asarray(rates, jnp.float32), data, options.batch, chunk)
        if (first // chunk + 1) % 4 == 0:
            print(f"{time.time() - start:6.0f} s  step {first + chunk - 1:6d}  loss {float(value):.3e}  {report(layers, test)}", flush=True)
    fresh = make_samples(options.probe, np.random.default_rng(51), 1000000)
    print(report(layers, fresh))
    write(options.out, layers, slack=1.1 * steepest(layers, fresh))


if __name__ == "__main__":
    main()
