"""Beside the real MPE2: the same episodes, and a trained policy that plays there as it does here."""

import numpy as np
import pytest

import cgcmarl
from cgcmarl.mpe2 import simple_spread_state
from conftest import MODEL

simple_spread_v3 = pytest.importorskip("mpe2.simple_spread_v3")
simple_tag_v3 = pytest.importorskip("mpe2.simple_tag_v3")
FORCES = np.array([[x, y] for x in (-1.0, -0.5, 0.0, 0.5, 1.0) for y in (-1.0, -0.5, 0.0, 0.5, 1.0)])


def theirs(agents, **options):
    return simple_spread_v3.parallel_env(N=agents, **options)


def world_snapshot(world, steps=0):
    points = [a.state.p_pos for a in world.agents] + [a.state.p_vel for a in world.agents]
    points += [landmark.state.p_pos for landmark in world.landmarks]
    return np.concatenate([*points, [steps]]).astype(np.float64)


@pytest.mark.parametrize("agents", [2, 3, 5])
def test_the_same_actions_give_the_same_episode(agents):
    ours = cgcmarl.make(agents=agents, physics="mpe2", n=1)
    env = theirs(agents, max_cycles=25, local_ratio=0.5, dynamic_rescaling=False)
    rng = np.random.default_rng(agents)
    for episode in range(4):
        seen, _ = env.reset(seed=episode)
        world = env.unwrapped.world if hasattr(env.unwrapped, "world") else env.aec_env.env.env.world
        ours.restore(world_snapshot(world))
        for step in range(25):
            joint = rng.integers(5, size=agents)
            seen, rewards, *_ = env.step(dict(zip(env.agents, map(int, joint))))
            after = ours.step([joint])
            expected = world_snapshot(world, step + 1)
            assert np.abs(ours.snapshot() - expected).max() < 1e-9
            own = np.array(list(rewards.values()), dtype=np.float64)
            assert np.abs(after.rewards[0] - own).max() < 1e-4
            rows = np.array([row[: 4 + 2 * agents + 2 * (agents - 1)] for row in seen.values()])
            assert np.abs(ours.observations()[0] - rows).max() < 1e-5


def away(world):
    """Where the prey of our task runs: from the nearest predator, and back from the border."""
    *predators, prey = world.agents
    me = prey.state.p_pos
    nearest = min((me - predator.state.p_pos for predator in predators), key=np.linalg.norm)
    back = np.maximum((0.25 - (0.9 - np.abs(me))) / 0.25, 0.0)
    wanted = nearest / np.linalg.norm(nearest) - 2.0 * back * np.sign(me)
    return wanted / np.abs(wanted).max()


def chase(world):
    """The forces of the grid that point at the prey best."""
    *predators, prey = world.agents
    wanted = np.array([prey.state.p_pos - predator.state.p_pos for predator in predators])
    wanted /= np.abs(wanted).max(axis=1, keepdims=True)
    return np.linalg.norm(wanted[:, None] - FORCES, axis=2).argmin(axis=1)


def motors(force):
    """MPE2's continuous action with this force: nothing, left, right, down, up."""
    (x, y) = force
    return np.array([0.0, max(-x, 0.0), max(x, 0.0), max(-y, 0.0), max(y, 0.0)])


@pytest.mark.parametrize("agents", [3, 5])
def test_a_hunt_is_the_same_episode_in_simple_tag(agents):
    ours = cgcmarl.make("simple_tag", agents=agents, n=1)
    env = simple_tag_v3.raw_env(num_adversaries=agents, continuous_actions=True, dynamic_rescaling=False)
    rng = np.random.default_rng(agents)
    touches = 0
    for episode in range(10):
        env.reset(seed=episode)
        ours.restore(world_snapshot(env.world))
        for step in range(25):
            joint = chase(env.world) if episode % 2 else rng.integers(25, size=agents)
            for force in [*FORCES[joint], away(env.world)]:
                env.step(motors(force))
            after = ours.step([joint])
            assert np.abs(ours.snapshot() - world_snapshot(env.world, step + 1)).max() < 1e-9
            assert env.rewards["adversary_0"] == 10 * after.metrics["touches"][0]
            touches += after.metrics["touches"][0]
    assert touches > 0


def force(env, agent, vector):
    """Sets what an agent's motors do; MPE2 has five actions, our default team twenty-five."""
    agent.action.u = np.array(vector, dtype=np.float64) * (agent.accel or 5.0)


def test_a_trained_policy_plays_in_the_real_world_as_it_does_here():
    model = cgcmarl.load(MODEL)
    policy = model.policy(0.5)
    env = theirs(3, max_cycles=25)
    env.reset(seed=0)
    world = env.aec_env.env.env.world if not hasattr(env.unwrapped, "world") else env.unwrapped.world
    for agent in world.agents:
        agent.collide = False
    here = cgcmarl.make(agents=3, n=1)
    covered, collided, episodes = [], [], 300
    for episode in range(episodes):
        start = here.reset(seed=10_000 + episode)
        snapshot = here.snapshot()
        points = snapshot[:18].reshape(9, 2)
        for i, agent in enumerate(world.agents):
            agent.state.p_pos, agent.state.p_vel = points[i].copy(), points[3 + i].copy()
        for i, landmark in enumerate(world.landmarks):
            landmark.state.p_pos = points[6 + i].copy()
        overlaps = 0
        for _ in range(25):
            seen = {a: env.aec_env.observe(a) for a in env.possible_agents}
            joint = policy.act(simple_spread_state(seen))
            for agent, action in zip(world.agents, joint):
                force(env, agent, FORCES[action])
            world.step()
            places = np.array([agent.state.p_pos for agent in world.agents])
            apart = np.linalg.norm(places[:, None] - places[None], axis=2)
            overlaps += ((apart < 0.16).sum() - 3) // 2
        marks = np.array([landmark.state.p_pos for landmark in world.landmarks])
        reach = np.linalg.norm(places[:, None] - marks[None], axis=2).min(axis=0)
        covered.append((reach < 0.1).mean())
        collided.append(overlaps / 25)
    environment = cgcmarl.make(agents=3, n=episodes)
    states = environment.reset(seed=10_000)
    total = 0.0
    for _ in range(25):
        after = environment.step(policy.act(states))
        states, total = after.states, total + after.metrics["collisions_per_step"].mean() / 25
    assert np.mean(covered) == pytest.approx(after.metrics["coverage"].mean(), abs=0.01)
    assert np.mean(collided) == pytest.approx(total, abs=0.001)
    assert np.mean(covered) > 0.97
