"""Environments for Gymnasium: its own checker, seeds, vector against single environments bit for bit, tasks that scripts solve."""

import gc
import pathlib
import re
import warnings
import weakref

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the package gymnasium is not installed")

import almond.gym  # noqa: E402
from almond.gym import train  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

IDS = [f"almond/{task.__name__}-v0" for task in almond.gym.TASKS.values()]
FREE = [i for i in IDS if i != "almond/InHandCube-v0"]  # of robot files


def make(env_id, **options):
    try:
        return gymnasium.make(env_id, **options)
    except gymnasium.error.DependencyNotInstalled as error:
        pytest.skip(str(error))


def actions_for(space, steps, seed=0):
    """Held for some steps each, so that worlds go somewhere."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.uniform(-1, 1, (steps // 5 + 1, *space.shape)), 5, axis=0)[:steps].astype(np.float32)


@pytest.mark.filterwarnings("error:.*Box.*space")
@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_accepts_it(env_id):
    env = make(env_id).unwrapped
    check_env(env)
    assert f"Action ({env.action_space.shape[0]})" in type(env.task).__doc__
    assert f"Observation ({env.observation_space.shape[0]})" in type(env.task).__doc__


@pytest.mark.parametrize("env_id", IDS)
def test_a_seed_gives_the_same_bits_and_another_gives_others(env_id):
    env = make(env_id)
    runs = []
    for seed in (3, 3, 4):
        rows = [env.reset(seed=seed)[0]]
        for action in actions_for(env.action_space, 8):
            observation, reward, *_ = env.step(action)
            rows.append(np.append(observation, reward))
        runs.append(np.concatenate(rows))
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert env.unwrapped.worlds.batch.solved.all()


def test_observations_stay_within_their_space_and_are_cut_off_at_its_bound():
    env = make("almond/Quadruped-v0").unwrapped
    observation, _ = env.reset(seed=0)
    assert np.isfinite(env.observation_space.high).all() and observation in env.observation_space
    env.worlds.batch.v[0, 3:6] = 0.0, 0.0, 1e4  # it turns about the vertical, which is nearly its own
    seen = env.worlds.observe()[0]
    assert seen in env.observation_space and seen.max() == env.observation_space.high[0] == 100.0
    same = np.abs(seen) < 100.0
    np.testing.assert_array_equal(seen[same], env.task.observe(env.worlds.batch, env.worlds.memory)[0][same])


def test_a_closed_environment_is_gone_and_says_so(tmp_path):
    single, many = almond.gym.Env("reach"), almond.gym.VectorEnv("reach", num_envs=2, record=True)
    for env in (single, many):
        env.reset(seed=0)
        batch = weakref.ref(env.worlds)
        env.close()
        gc.collect()
        assert batch() is None
        actions = np.zeros(env.action_space.shape, np.float32)
        for call in (env.reset, lambda: env.step(actions), lambda: env.save_html(tmp_path / "x.html")):
            with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="closed"):
                call()
        env.close()


def test_a_page_of_nothing_says_what_is_missing(tmp_path):
    page = tmp_path / "x.html"
    with pytest.raises(gymnasium.error.ResetNeeded, match="before the first reset"):
        almond.gym.Env("reach").save_html(page)
    many = almond.gym.VectorEnv("reach", num_envs=2, record=True)
    with pytest.raises(gymnasium.error.ResetNeeded, match="before the first reset"):
        many.save_html(page)
    many.reset(seed=0)
    with pytest.raises(ValueError, match="world: is 2, expected 0 to 1"):
        many.save_html(page, world=2)
    with pytest.raises(ValueError, match="record=True"):
        almond.gym.VectorEnv("reach", num_envs=2).save_html(page)


def assert_same(a, b):
    assert type(a) is type(b) or {type(a), type(b)} <= {dict, np.ndarray}
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif a.dtype == object:
        assert all((x is None) == (y is None) for x, y in zip(a, b))
        for x, y in zip(a, b):
            np.testing.assert_array_equal(x, y)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("env_id", IDS)
def test_worlds_of_a_vector_are_single_environments(env_id, mode):
    """Gymnasium's own vector of single environments is the oracle: every array of every step, through several ends of episodes."""
    make(env_id)
    n, limit = 3, 5
    both = [
        gymnasium.make_vec(env_id, n, "sync", vector_kwargs={"autoreset_mode": mode}, max_episode_steps=limit),
        gymnasium.make_vec(env_id, n, max_episode_steps=limit, autoreset_mode=mode, threads=2),
    ]
    assert both[1].metadata["autoreset_mode"] == mode
    assert_same(*[envs.reset(seed=11)[0] for envs in both])
    for action in actions_for(both[0].action_space, 13):
        results = [envs.step(action) for envs in both]
        for a, b in zip(*results):
            assert_same(a, b)


def test_falls_end_episodes_at_different_times_in_both():
    """As above where worlds end by themselves, one by one: quadrupeds that throw themselves down."""
    both = [
        gymnasium.make_vec("almond/Quadruped-v0", 4, "sync", push=2.0),
        gymnasium.make_vec("almond/Quadruped-v0", 4, push=2.0),
    ]
    assert_same(*[envs.reset(seed=1)[0] for envs in both])
    ends = []
    for action in actions_for(both[0].action_space, 120):
        results = [envs.step(action) for envs in both]
        for a, b in zip(*results):
            assert_same(a, b)
        ends.append(results[0][2])
    ended = np.array(ends).argmax(axis=0)
    assert np.array(ends).any() and len(set(ended)) > 1


@pytest.mark.parametrize("env_id", ["almond/Quadruped-v0", "almond/Pouring-v0", "almond/DishPiling-v0"])
def test_threads_and_number_of_worlds_do_not_matter(env_id):
    results = []
    for n, threads in ((9, 1), (9, 3), (9, 8), (2, 1)):
        envs = gymnasium.make_vec(env_id, n, threads=threads)
        envs.reset(seed=5)
        for action in actions_for(envs.single_action_space, 6):
            observation, reward, *_ = envs.step(np.tile(action, (n, 1)))
        results.append(np.column_stack([observation, reward]))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0][: len(other)])


@pytest.mark.parametrize("env_id", IDS)
def test_a_replay_is_what_happened(env_id, tmp_path):
    env = make(env_id)
    env.reset(seed=2)
    for action in actions_for(env.action_space, 7):
        env.step(action)
    own = env.unwrapped
    sim = own.worlds.replay()
    np.testing.assert_array_equal(sim.q, own.worlds.batch.q[0])
    np.testing.assert_array_equal(sim.v, own.worlds.batch.v[0])
    own.save_html(tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()[:200].lower()


def run_script(env_id, script, seed=0, **options):
    env = make(env_id, **options)
    observation, _ = env.reset(seed=seed)
    total, memory, over = 0.0, {}, False
    while not over:
        action = np.clip(script(observation, memory), -1, 1).astype(np.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        total, over = total + reward, terminated or truncated
        assert env.unwrapped.worlds.batch.residual[0] < 1e-7
    return total, info


def test_a_nut_that_is_turned_goes_down_by_the_pitch():
    """In the thread, depth and angle are those of the helix, to within the play of the thread."""
    env = make("almond/NutThreading-v0", miss=0.0)
    env.reset(seed=1)
    batch, track, over = env.unwrapped.worlds.batch, [], False
    while not over:
        *_, terminated, truncated, info = env.step(np.array([0, 0, 0, -1], np.float32))
        track.append((batch.q[0, 2], batch.q[0, 5]))
        over = terminated or truncated
    assert info["success"]
    z, angle = np.array(track)[-40:].T
    slope = np.polyfit(angle, z, 1)[0]
    assert slope == pytest.approx(0.005 / (2 * np.pi), rel=0.01)


def test_a_cup_that_is_tilted_over_the_jar_pours_all():
    def pour(o, memory):
        memory["tilting"] = memory.get("tilting", False) or abs(o[0]) + abs(o[1]) < 0.2
        return np.array([2 * o[0], 2 * o[1], 0.4 * memory["tilting"]])

    total, info = run_script("almond/Pouring-v0", pour, balls=8)
    assert info["success"] and info["in_jar"] == 1.0 and total > 10.0


def test_a_bowl_that_is_taken_and_carried_lies_in_the_pile():
    def pile(o, memory):
        grasp, way, phase = o[:3], o[3:6], memory.setdefault("phase", 0)
        count = memory["count"] = memory.get("count", 0) + 1
        move, grip, beside = np.zeros(3), 1.0, np.hypot(way[0], way[1])
        if phase == 0:  # over the bowl, then down
            move, grip = 3 * grasp * [1, 1, np.hypot(grasp[0], grasp[1]) < 0.1], -1.0
            done = np.abs(grasp).max() < 0.03
        elif phase == 1:  # close
            done = count > 8
        elif phase == 2:  # raise, then carry
            raised = abs(way[2] + 0.6) < 0.2
            move, done = 3 * np.array([way[0] * raised, way[1] * raised, way[2] + 0.6]), beside < 0.03
        elif phase == 3:  # lower
            move, done = 3 * (way + [0, 0, 0.02]), abs(way[2] + 0.02) < 0.02
        else:
            grip, done = -1.0, False
        if done:
            memory.update(phase=phase + 1, count=0)
        return np.append(move, grip)

    total, info = run_script("almond/DishPiling-v0", pile)
    assert info["success"] and info["beside_mm"] < 0.1 and total > 10.0


def test_an_arm_that_follows_the_jacobian_reaches():
    env = make("almond/Reach-v0")
    observation, _ = env.reset(seed=0)
    task, batch = env.unwrapped.task, env.unwrapped.worlds.batch
    probe = almond.Batch(task.model, 5)
    for _ in range(60):
        probe.q[:] = batch.q[0]
        probe.q[1:] += 1e-6 * np.eye(4)
        tip = probe.body_poses("tip")[:, :3]
        jacobian = (tip[1:] - tip[0]).T / 1e-6
        turn = np.linalg.lstsq(jacobian, 0.1 * observation[12:15], rcond=1e-3)[0]
        observation, _, _, _, info = env.step(np.clip(4 * turn, -1, 1).astype(np.float32))
    assert info["success"] and info["distance_mm"] < 2.0


def test_a_standing_quadruped_earns_nothing_and_does_not_fall():
    total, info = run_script("almond/Quadruped-v0", lambda o, m: np.zeros(12))
    assert abs(info["forward_velocity"]) < 0.02 and abs(total) < 10.0


def test_random_search_learns_to_reach():
    """Return of the policy over starts that training has not seen, before and after."""
    kind = {"directions": 8, "best": 8, "step": 0.1, "noise": 0.1, "seed": 1}
    policy, curve = train.random_search("almond/Reach-v0", iterations=20, **kind)
    envs = gymnasium.make_vec("almond/Reach-v0", 16)
    fresh = range(10_000, 10_016)
    before = train.run(envs, train.make_policy("almond/Reach-v0"), fresh)[0].mean()
    after = train.run(envs, policy, fresh)[0].mean()
    assert len(curve) == 20 and after > 0.6 * before  # returns are negative: minus the distance
    again, same = train.random_search("almond/Reach-v0", iterations=2, threads=1, **kind)
    np.testing.assert_array_equal(same, curve[:2])


def test_a_policy_goes_through_a_file(tmp_path):
    policy = train.Policy(np.arange(6.0).reshape(2, 3), np.ones(3), np.full(3, 2.0))
    policy.save(tmp_path / "policy.npz")
    x = np.array([0.3, -1.0, 2.0])
    np.testing.assert_array_equal(train.Policy.load(tmp_path / "policy.npz")(x), policy(x))


def test_the_examples_of_the_documentation_run(tmp_path, monkeypatch):
    page = pathlib.Path(__file__).parents[2] / "docs" / "gym.md"
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    start, many, own = [block for block in blocks if "stable_baselines3" not in block]
    names = {}
    for block in (start, many.replace("num_envs=64", "num_envs=3"), own):
        exec(block, names)
    assert (tmp_path / "episode.html").stat().st_size > 100_000
    # A cart that is not pushed, without friction: the pole falls, the sum of both momenta stays zero.
    envs = names["envs"]
    envs.reset(seed=0)
    for _ in range(20):
        envs.step(np.zeros((32, 1), np.float32))
    (x, angle), (speed, rate) = envs.worlds.batch.q.T, envs.worlds.batch.v.T
    drift = 1.0 * speed + 0.1 * (speed + 0.5 * rate * np.cos(angle))
    assert np.abs(rate).max() > 0.1 and np.abs(drift).max() < 0.01 * np.abs(0.05 * rate).max()


def test_robots_that_are_not_there_are_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("ALMOND_ROBOTS", str(tmp_path))
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="allegro.*pip install example-robot-data.*ALMOND_ROBOTS"):
        gymnasium.make("almond/InHandCube-v0")


def test_quadrupeds_stand_on_four_feet_that_carry_their_weight():
    for robot in (None, "a1", "go1", "go2"):
        env = make("almond/Quadruped-v0", robot=robot)
        env.reset(seed=0)
        for _ in range(99):
            env.step(np.zeros(12, np.float32))
            assert env.unwrapped.worlds.batch.solved.all(), robot
        sim = env.unwrapped.worlds.replay()
        contacts = sim.contacts()
        force = contacts["force"].sum(axis=0)
        weight = 9.81 * sim.model.masses().sum()
        np.testing.assert_allclose(force, [0.0, 0.0, weight], atol=0.02 * weight, err_msg=str(robot))
        carry = np.abs(contacts["force"][:, 2]) > 0.1
        assert len(set(contacts["geom_b"][carry])) == 4 and (sim.model.geom_bodies[contacts["geom_a"]] == -1).all(), robot


def test_mistakes_are_told():
    reach = gymnasium.make_vec("almond/Reach-v0", 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        reach.step(np.zeros((2, 4), np.float32))
    reach.reset(seed=0)
    single = almond.gym.Env("reach")
    single.reset()
    for call, words in [
        (lambda: almond.gym.Env("dance"), "task.*dance.*quadruped"),
        (lambda: gymnasium.make("almond/Quadruped-v0", robot="go7"), "robot.*go7.*go2"),
        (lambda: gymnasium.make("almond/Quadruped-v0", speed=-1.0), "speed.*-1"),
        (lambda: gymnasium.make("almond/Pouring-v0", balls=100), "balls.*100"),
        (lambda: gymnasium.make("almond/DishPiling-v0", pile=0), "pile.*0"),
        (lambda: gymnasium.make("almond/NutThreading-v0", miss=-1), "miss.*-1"),
        (lambda: almond.gym.VectorEnv("reach", num_envs=0), "num_envs"),
        (lambda: almond.gym.Env("reach", render_mode="human"), "render_mode.*human.*rgb_array.*save_html"),
        (lambda: almond.gym.VectorEnv("reach", render_mode="ansi"), "render_mode.*ansi.*rgb_array"),
        (lambda: single.worlds.task.simulation().picture(width=8), "width.*8.*16 to 4096"),
        (lambda: single.worlds.task.simulation().picture(camera=[0, 0, 0, 0, 0, 0]), "camera"),
        (lambda: reach.step(np.zeros((3, 4))), "action.*shape.*3, 4"),
        (lambda: reach.reset(seed=[1]), "seed.*1.*2"),
        (lambda: reach.save_html("x.html"), "record"),
        (lambda: single.step(np.full(4, np.nan)), "action.*finite"),
        (lambda: train.random_search("almond/Reach-v0", best=9, directions=8), "best.*9"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


class Cart(almond.gym.Task):
    """A cart on a rail that says what it is told to."""

    observation_size, action_size = 2, 1

    def __init__(self, **wrong):
        b = almond.ModelBuilder("cart")
        b.add_body("cart", joint="prismatic", axis=[1, 0, 0], mass=1.0, inertia=[1e-2] * 3)
        b.add_drive("cart", "torque")
        self.model, self.wrong = b.build(), {}
        for name, value in wrong.items():
            if hasattr(self, name) and not callable(getattr(self, name)):
                setattr(self, name, value)
            else:
                self.wrong[name] = value

    def start(self, rng):
        return self.wrong.get("start", (np.zeros(1), np.zeros(1), np.zeros(1), {}))

    def act(self, action, batch, memory):
        batch.feedforward[:] = self.wrong.get("act", 10.0 * action)

    def observe(self, batch, memory):
        return self.wrong.get("observe", np.concatenate([batch.q, batch.v], axis=1))

    def score(self, action, batch, memory):
        return self.wrong.get("score", (-np.abs(batch.q[:, 0]), np.zeros(len(batch), bool), {}))


@pytest.mark.parametrize(
    "wrong, words",
    [
        (dict(observe=np.zeros((2, 3))), r"Cart.observe: .* shape \(2, 3\), expected \(2, 2\)"),
        (dict(observe=None), r"Cart.observe: .* shape \(\)"),
        (dict(observe=np.array([[0.0, 1.0], [np.nan, 0.0]])), r"Cart.observe: the observation\[1, 0\] is nan, expected finite"),
        (dict(start=(np.zeros(2), np.zeros(1), np.zeros(1), {})), r"Cart.start: q has shape \(2,\), expected \(1,\)"),
        (dict(start=(np.zeros(1), [np.inf], np.zeros(1), {})), r"Cart.start: v\[0\] is inf"),
        (dict(start=None), "Cart.start: returned NoneType, expected q, v, target, a dict"),
        (dict(act=np.array([[0.0], [np.nan]])), r"feedforward\[1, 0\]: is nan"),
        (dict(score=(np.array([0.0, np.nan]), np.zeros(2, bool), {})), r"Cart.score: reward\[1\] is nan"),
        (dict(score=(0.0, np.zeros(2, bool), {})), r"Cart.score: reward has shape \(\), expected \(2,\)"),
        (dict(model=None), "task: its model is None, expected an almond.Model"),
        (dict(observation_size=2.5), "task: its observation_size is 2.5"),
        (dict(action_size=-1), "task: its action_size is -1"),
        (dict(substeps=0), "task: its substeps is 0"),
        (dict(observation_limit=0.0), "task: its observation_limit is 0.0"),
    ],
)
def test_tasks_of_ones_own_that_are_wrong_are_told(wrong, words):
    def run(task):
        envs = almond.gym.VectorEnv(task, num_envs=2)
        envs.reset(seed=0)
        return envs.step(np.ones((2, 1)))

    observation, *_ = run(Cart())
    t = 4 / 240.0  # 10 N on 1 kg
    np.testing.assert_allclose(observation[:, 1], 10.0 * t, rtol=1e-12)
    with pytest.raises(ValueError, match=words):
        run(Cart(**wrong))


@pytest.mark.parametrize("task, words", [(Cart, r"is the class Cart, expected an instance, Cart\(\)"), (3, "task: is 3"), (None, "task: is None")])
def test_what_is_no_task_is_told(task, words):
    for make_env in (almond.gym.Env, almond.gym.VectorEnv):
        with pytest.raises(TypeError, match=words):
            make_env(task)


@pytest.mark.parametrize("env_id", IDS)
def test_stable_baselines_accepts_it_and_trains(env_id):
    baselines = pytest.importorskip("stable_baselines3", reason="the package stable-baselines3 is not installed")
    from stable_baselines3.common.env_checker import check_env as check

    env = make(env_id)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check(env.unwrapped)
    agent = baselines.PPO("MlpPolicy", env, n_steps=100, batch_size=50, n_epochs=1, seed=0, device="cpu")
    before = [p.detach().clone() for p in agent.policy.parameters()]
    agent.learn(200)
    after = [p.detach() for p in agent.policy.parameters()]
    assert agent.num_timesteps == 200 and all(bool(p.isfinite().all()) for p in after)
    assert any(bool((a != b).any()) for a, b in zip(before, after))


@pytest.mark.parametrize("env_id", FREE)
@pytest.mark.filterwarnings("error")
def test_stable_baselines_may_ask_for_pictures(env_id):
    """What its make_vec_env does, call by call: eight environments with render_mode="rgb_array", each with seeds, spaces and a monitor around."""
    envs = [gymnasium.make(env_id, render_mode="rgb_array") for _ in range(8)]
    for rank, env in enumerate(envs):
        env.action_space.seed(rank)
        env.reset(seed=rank)
        assert env.render_mode == "rgb_array"
    pictures = [env.render() for env in envs[:2]]
    for picture in pictures:
        assert picture.shape == (360, 480, 3) and picture.dtype == np.uint8 and len(np.unique(picture.reshape(-1, 3), axis=0)) > 20
    for env in envs:
        env.close()


def test_stable_baselines_makes_vectors():
    env_util = pytest.importorskip("stable_baselines3.common.env_util", reason="the package stable-baselines3 is not installed")
    envs = env_util.make_vec_env("almond/Reach-v0", n_envs=8, seed=0)
    envs.reset()
    envs.step(np.zeros((8, 4), np.float32))
    assert envs.render_mode == "rgb_array" and len(envs.get_images()) == 8 and envs.render("rgb_array").ndim == 3


@pytest.mark.filterwarnings("error:.*render")
def test_gymnasium_accepts_its_pictures():
    env = gymnasium.make("almond/Reach-v0", render_mode="rgb_array").unwrapped
    check_env(env, skip_render_check=False)
    assert env.metadata["render_fps"] == round(1 / (env.worlds.batch.dt * env.task.substeps))
    many = gymnasium.make_vec("almond/Reach-v0", num_envs=3, render_mode="rgb_array")
    many.reset(seed=0)
    single = gymnasium.make("almond/Reach-v0", render_mode="rgb_array")
    for k, picture in enumerate(many.render()):
        single.reset(seed=k)
        if k == 0:  # the camera's distance is that of the first picture
            np.testing.assert_array_equal(picture, single.render())
        assert picture.shape == (360, 480, 3)


def test_without_a_mode_there_is_no_picture():
    for env in (gymnasium.make("almond/Reach-v0"), gymnasium.make_vec("almond/Reach-v0", num_envs=2)):
        env.reset(seed=0)
        assert env.render_mode is None
        with pytest.warns(UserWarning, match="render"):
            assert env.unwrapped.render() is None
    for make_env in (almond.gym.Env, almond.gym.VectorEnv):
        env = make_env("reach", render_mode="rgb_array")
        with pytest.raises(gymnasium.error.ResetNeeded, match="render"):
            env.render()
        env.close()
        with pytest.raises(gymnasium.error.ClosedEnvironmentError):
            env.render()


def test_pictures_change_nothing():
    """The same bits with pictures and without; and what moves is seen to move."""
    seen, rows = [], []
    for mode in (None, "rgb_array"):
        env = gymnasium.make("almond/Quadruped-v0", render_mode=mode)
        rows.append([env.reset(seed=1)[0]])
        for action in actions_for(env.action_space, 10):
            rows[-1].append(env.step(action)[0])
            if mode:
                seen.append(env.render())
    np.testing.assert_array_equal(*rows)
    assert (seen[0] != seen[-1]).any()
