"""`almond soak`: counts that add up, episodes that can be run again by their seed, and refusals."""


def soak(almond, *arguments):
    result = almond("soak", *arguments, "--json", "-")
    assert result.code == 0, result.err
    return result.json()["all"]


def test_an_episode_runs_again_by_its_seed(almond):
    """The second of two episodes alone does what it did after the first."""
    case = ("painleve", "--solver", "auto", "--repeat-steps", 0)
    both, first = soak(almond, *case, "--seed", 5, "--steps", 700), soak(almond, *case, "--seed", 5, "--steps", 500)
    second, other = soak(almond, *case, "--seed", 6, "--steps", 200), soak(almond, *case, "--seed", 7, "--steps", 200)
    assert both["steps"] == 700 and first["steps"] == 500 and second["steps"] == 200
    for count in ("contacts", "pushes"):
        assert both[count] == first[count] + second[count]
    assert (other["contacts"], other["pushes"]) != (second["contacts"], second["pushes"])


def test_runs_are_repeated_over_threads_first(almond):
    """Repeats are counted apart: --steps is how many different ones there are."""
    once, again = (soak(almond, "tower", "--solver", "auto", "--steps", 20, "--repeat-steps", n) for n in (0, 8))
    assert (once["steps"], once["repeated_steps"]) == (20, 0)
    assert (again["steps"], again["repeated_steps"]) == (20, 3 * 8)  # once more with one thread, with two and with four
    assert sum(again["status"].values()) == 20
    result = almond("soak", "tower", "--solver", "auto", "--steps", 20, "--repeat-steps", 8)
    assert "\n20 steps, " in result.out and "\n24 more in runs that were repeated, not counted above\n" in result.out


def test_every_case_has_its_steps_with_every_solver(almond):
    """At least 100, or its share: also those that are slow."""
    names = ("tower", "slope", "quadrupeds")
    for steps, fewest in ((700, 100), (60, 10)):
        result = almond("soak", *names, "--solver", "auto,pgs", "--steps", steps, "--json", "-")
        assert result.code == 0, result.err
        counts = [entry["steps"] for entry in result.json()["cases"]]
        assert len(counts) == 6 and sum(counts) == steps and min(counts) >= fewest
        assert f"6 cases with a solver, each with at least {min(counts)} steps" in result.err


def test_what_is_named_twice_runs_once(almond):
    result = almond("soak", "tower", "tower", "--solver", "auto", "--solver", "auto", "--steps", 10, "--json", "-")
    assert [entry["steps"] for entry in result.json()["cases"]] == [10]


def test_it_says_how_far_it_is_without_a_terminal(almond):
    result = almond("soak", "tower", "--solver", "auto", "--steps", 10)
    assert result.err == "tower, auto: 0 of 10 steps, 0 faults\n"


def test_what_it_cannot_do_is_refused(almond):
    for arguments, words in (
        (("nonsense",), '"nonsense"; expected one of limp_quadrupeds_27, spheres_200, '),
        (("towr",), 'did you mean "tower"?'),
        (("tower", "--repeat-steps", -1), "--repeat-steps -1: expected at least 0"),
        (("tower", "--steps", 0), "--steps 0: expected at least 1"),
        (("tower", "--solver", "magic"), "magic"),
    ):
        result = almond("soak", *arguments)
        assert result.code == 2 and len(result.err.strip().splitlines()) == 1 and words in result.err
