"""An agent on phantom questions with the real tools: against a scripted server, and as a fixed protocol."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from slicewise import artifacts
from slicewise.data.ctflowbench import build, chest
from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.errors import UserError
from slicewise.infer.agent import protocol, trajectory
from slicewise.infer.agent.backend import AgentBackend, system_prompt
from slicewise.infer.agent.session import LateToolError, Session
from slicewise.infer.agent.tools import McpToolbox, Observation, allowed
from slicewise.infer.agent.toolstore import ToolStore
from slicewise.infer.items import Answer, Frame, Item, item
from slicewise.outcome import Outcome
from slicewise.params import AgentLimits, AgentModel, ChestSettings
from slicewise.score import tool_use

N = 30
OK = "ANALYSIS: The last observation is as expected, a chest CT in good order. NORMAL. PLAN: Go on."


@pytest.fixture(scope="module")
def phantoms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Three phantoms and 30 questions."""
    folder = tmp_path_factory.mktemp("chest") / "data"
    settings = ChestSettings(volumes=3, per_scenario=10, path=folder)
    chest.make(settings, folder)
    path = folder.parent / "samples.parquet"
    artifacts.write_rows(path, build.phantoms(settings, "ctflowbench-demo"), artifacts.SAMPLES)
    return folder, artifacts.read_rows(path)


@pytest.fixture(scope="module")
def items(phantoms: tuple[Path, list[dict[str, Any]]]) -> list[Item]:
    found = [item(row) for row in phantoms[1]]
    assert len(found) == N
    return found


# --- a server that plays a script -----------------------------------------------------------------------------------


def _module() -> ModuleType:
    path = Path(__file__).parents[1] / "llm" / "fake_server.py"
    spec = importlib.util.spec_from_file_location("slicewise_tests_agent_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Script:
    """What the model writes, turn by turn, for every question; errors are planted by the question's number."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.by_question = {found.question.split("\n")[0] + found.volume_id: n for n, found in enumerate(items)}
        self.planted = Counter[str]()
        for number in range(len(items)):
            self.planted.update(kind for kind, _ in self.turns(number, "", ""))

    def turns(self, number: int, volume: str, mask: str) -> list[tuple[str, str]]:
        """``(kind, text)`` of every turn of a question."""
        asked = self.items[number]
        load = ("ok", protocol.action(OK, "load_data", {"path": f"volumes/{asked.volume_id}.nii.gz"}))
        turns = [load]
        if number % 5 == 0:
            turns.append(("name_error", protocol.action(OK, "load_dicom", {"path": "x"})))
        if number % 3 == 0:
            turns.append(("argument_error", protocol.action(OK, "view_slice", {"volume_id": volume, "index": "three"})))
        if number % 7 == 0:
            turns.append(("argument_error", protocol.action(OK, "view_slice", {"index": 3})))
        if number % 4 == 0:
            turns.append(("format_error", "I will look at slice 40 now."))
        if number % 6 == 0:
            turns.append(("domain_error", protocol.action(OK, "view_slice", {"volume_id": volume, "index": 9999})))
        turns.append(("ok", protocol.action(OK, "view_slice", {"volume_id": volume, "index": 40})))
        if number % 8 == 0:
            turns.append(("format_error", protocol.final(OK, "It is the first.")))  # no box
        letter = asked.answer[1] if number % 2 == 0 else "A"
        final = protocol.final(OK, f"It is so. \\boxed{{{letter}}}")
        turns.append(("final", final.replace("\\\\boxed", "\\boxed") if number % 10 == 0 else final))
        return turns

    def __call__(self, body: dict[str, Any]) -> str:
        texts = [_text(message["content"]) for message in body["messages"]]
        volume_file = re.search(r"volumes/(\S+)\.nii\.gz", texts[1])
        question = re.search(r"Question: (.+)", texts[1])
        assert volume_file is not None
        assert question is not None
        number = self.by_question[question[1] + volume_file[1]]
        opened = re.search(r"ct-[0-9a-f]{12}", "\n".join(texts[2:]))
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return self.turns(number, opened[0] if opened else "", "")[turn][1]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


@pytest.fixture(scope="module")
def script(items: list[Item]) -> Script:
    return Script(items)


@pytest.fixture(scope="module")
def endpoint(script: Script) -> Iterator[Endpoint]:
    """A fake server that plays the script."""
    module = _module()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = module.FakeServer(reply=script)
    port = asyncio.run_coroutine_threadsafe(module.serve(server, 0), loop).result(10)
    yield Endpoint(
        provider="local", model="scripted", base_url=f"http://127.0.0.1:{port}/v1", api_key_env=None, timeout=20.0
    )
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)


class Played:
    """A run of the scripted agent."""

    def __init__(self, root: Path, items: list[Item], endpoint: Endpoint, store: Path, mode: str, out: Path) -> None:
        model = AgentModel(name="scripted", backend="agent", endpoint=endpoint)
        self.backend = AgentBackend(model, LlmSettings(mode=mode), root, store=store)  # type: ignore[arg-type]
        self.answers: dict[str, Answer] = {a.sample_id: a for a in self.backend.answer_all(items)}
        self.backend.save(out, "ctflowbench-demo")
        self.out = out


@pytest.fixture(scope="module")
def played(
    phantoms: tuple[Path, list[dict[str, Any]]], items: list[Item], endpoint: Endpoint,
    tmp_path_factory: pytest.TempPathFactory,
) -> Played:  # fmt: skip
    base = tmp_path_factory.mktemp("run")
    return Played(phantoms[0], items, endpoint, base / "store", "live", base / "live")


def test_the_statistics_are_the_planted_errors_to_the_count(played: Played, script: Script) -> None:
    steps = artifacts.read_rows(played.out / trajectory.TRAJECTORIES_FILE, trajectory.TRAJECTORIES)
    assert Counter(step["status"] for step in steps) == script.planted
    cases = [tool_use.case([s for s in steps if s["sample_id"] == name], ()) for name in played.answers]
    for column, kind in (
        ("name_errors", "name_error"), ("argument_errors", "argument_error"), ("domain_errors", "domain_error"),
        ("format_errors", "format_error"),
    ):  # fmt: skip
        assert sum(case[column] for case in cases) == script.planted[kind]
    calls = sum(script.planted[kind] for kind in trajectory.CALLS)
    assert sum(case["calls"] for case in cases) == calls
    assert sum(case["repaired"] for case in cases) == len(range(0, N, 10))
    assert min(script.planted.values()) >= 3  # a count of 0 would prove nothing


def test_every_question_gets_its_scripted_answer(played: Played, items: list[Item]) -> None:
    for number, asked in enumerate(items):
        answer = played.answers[asked.sample_id]
        letter = asked.answer[1] if number % 2 == 0 else "A"
        assert (answer.outcome, answer.finish_reason) == (Outcome.OK, "stop")
        assert answer.text == f"It is so. \\boxed{{{letter}}}"


def test_pictures_are_kept_by_content(played: Played) -> None:
    steps = artifacts.read_rows(played.out / trajectory.TRAJECTORIES_FILE)
    seen = {step["picture"] for step in steps if step["picture"]}
    kept = {row["sha256"]: row["png"] for row in artifacts.read_rows(played.out / trajectory.PICTURES_FILE)}
    assert set(kept) == seen
    assert all(png.startswith(b"\x89PNG") for png in kept.values())


def test_a_replay_without_network_gives_the_same_bytes(
    played: Played, phantoms: tuple[Path, list[dict[str, Any]]], items: list[Item], tmp_path: Path
) -> None:
    endpoint = played.backend.model.endpoint
    assert endpoint is not None
    dead = endpoint.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    again = Played(phantoms[0], list(reversed(items)), dead, played.backend.store, "replay", tmp_path)
    for name in (trajectory.TRAJECTORIES_FILE, trajectory.PICTURES_FILE):
        assert (tmp_path / name).read_bytes() == (played.out / name).read_bytes()
    assert again.answers == played.answers


def test_a_trajectory_comes_back_from_its_file(played: Played) -> None:
    found = {one.sample_id: one for one in trajectory.read(played.out / trajectory.TRAJECTORIES_FILE)}
    for one in played.backend.trajectories:
        assert found[one.sample_id] == one


def test_a_replay_of_an_unknown_question_is_an_error(
    played: Played, phantoms: tuple[Path, list[dict[str, Any]]], items: list[Item], tmp_path: Path
) -> None:
    model = played.backend.model.model_copy(update={"draw": 1})
    other = AgentBackend(model, LlmSettings(mode="replay"), phantoms[0], store=played.backend.store)
    with pytest.raises(UserError, match="replay: the store has no reply"):
        list(other.answer_all(items[:1]))


# --- the fixed protocol ---------------------------------------------------------------------------------------------


def _protocol(root: Path, store: Path, classes: list[int]) -> AgentBackend:
    raw = {"name": "protocol", "backend": "agent", "policy": "protocol", "tool_classes": classes}
    model = AgentModel.model_validate(raw)
    return AgentBackend(model, LlmSettings(), root, store=store)


def _right(backend: AgentBackend, items: list[Item]) -> int:
    answers = {a.sample_id: a.text or "" for a in backend.answer_all(items)}
    return sum(f"\\boxed{{{i.answer[1]}}}" in answers[i.sample_id] for i in items)


def test_the_protocol_solves_the_phantoms_and_needs_its_tools(
    phantoms: tuple[Path, list[dict[str, Any]]], items: list[Item], tmp_path: Path
) -> None:
    some = items[::3]
    whole = _protocol(phantoms[0], tmp_path, [2, 3, 4])
    assert _right(whole, some) == len(some)
    used = {step.tool for one in whole.trajectories for step in one.steps if step.status == "ok"}
    assert {"load_data", "load_mask", "measure_max_diameter", "analyze_hu_distribution"} <= used
    assert _right(_protocol(phantoms[0], tmp_path, [2, 4]), some) < len(some)
    assert all(step.status in ("ok", "final") for one in whole.trajectories for step in one.steps)


def test_an_ablation_changes_the_list_of_tools_and_nothing_else(phantoms: tuple[Path, list[dict[str, Any]]]) -> None:
    tools = McpToolbox(phantoms[0]).tools()
    assert len(tools) == 24
    whole = AgentModel(name="a", backend="agent", policy="protocol")
    prompts = {c: system_prompt(allowed(tools, c), whole).splitlines() for c in ((2, 3, 4), (2, 4), ())}
    gone = [line for line in prompts[2, 3, 4] if line not in prompts[2, 4]]
    assert [json.loads(line)["name"] for line in gone] == [
        "view_slice", "view_ortho", "measure_distance", "measure_max_diameter", "find_organ_center",
        "extract_vessel_centerline", "auto_crop_body", "edit_geometry",
    ]  # fmt: skip
    assert [line for line in prompts[2, 4] if line not in prompts[2, 3, 4]] == []
    assert len(allowed(tools, ())) == 6


def test_a_missing_volume_is_no_answer(items: list[Item], tmp_path: Path) -> None:
    (answer,) = _protocol(tmp_path, tmp_path / "store", [2, 3, 4]).answer_all(items[:1])
    assert answer.outcome is Outcome.MISSING_FRAMES


def test_an_mri_volume_is_read_from_its_frames(make: Any, tmp_path: Path) -> None:
    """The same agent on slices without spacing: it sees them, and measuring is an error of the data."""
    from PIL import Image
    from slicewise.infer.agent.backend import case_of, drive
    from slicewise.infer.agent.loop import Run

    root, folder = tmp_path / "frames", tmp_path / "frames" / "file1"
    folder.mkdir(parents=True)
    frames = []
    for number in range(1, 6):
        path = folder / f"{number:04d}.png"
        Image.fromarray((np.arange(64 * 64) % (50 * number)).astype(np.uint8).reshape(64, 64)).save(path)
        frames.append(Frame(number, path.as_posix(), 64, 64, artifacts.sha256_file(path)))
    case = case_of(replace(make("mri", level="volume"), frames=tuple(frames)), root)
    assert not isinstance(case, Answer)
    assert case.volume == "file1"
    toolbox = McpToolbox(root)
    volume = McpToolbox(root).open()
    opened = json.loads(volume.call("load_data", {"path": "file1"}).structured)["volume_id"]
    volume.close()
    turns = iter(
        [
            protocol.action(OK, "load_data", {"path": case.volume}),
            protocol.action(OK, "view_slice", {"volume_id": opened, "index": 2}),
            protocol.action(OK, "measure_distance", {"volume_id": opened, "p1": [0, 0, 0], "p2": [1, 1, 1]}),
            protocol.final(OK, r"\boxed{Yes}"),
        ]
    )
    policy = type("Fixed", (), {"next": lambda self, case, notes, tools: next(turns)})()
    with ToolStore(tmp_path / "tools.sqlite") as store:
        run = Run(case, policy, toolbox.tools(), Session(toolbox, store, case.files), AgentLimits())
        drive([run], None, 60)
    assert [step.status for step in run.trajectory.steps] == ["ok", "ok", "domain_error", "final"]


# --- the store of tool calls ----------------------------------------------------------------------------------------


class Counting:
    """A toolbox whose only tool counts its calls."""

    def __init__(self, step: int = 1) -> None:
        self.calls, self.opened, self.step = 0, 0, step

    def tools(self) -> list[Any]:
        return []

    def open(self) -> Counting:
        self.opened += 1
        return self

    def call(self, tool: str, arguments: Any) -> Observation:
        self.calls += self.step
        return Observation(True, f"{tool} {arguments}", json.dumps({"volume_id": f"{tool}"}), b"png")

    def close(self) -> None:
        pass


def test_a_stored_call_opens_no_server(tmp_path: Path) -> None:
    with ToolStore(tmp_path / "tools.sqlite") as store:
        first, second = Counting(), Counting()
        for toolbox in (first, second):
            session = Session(toolbox, store, "files")
            assert session.call("load_data", {"path": "a"})[1].png == b"png"
            session.call("view_slice", {"index": 1})
            session.close()
        assert (first.opened, first.calls) == (1, 2)
        assert (second.opened, second.calls) == (0, 0)


def test_a_late_server_is_caught_up_and_checked(tmp_path: Path) -> None:
    with ToolStore(tmp_path / "tools.sqlite") as store:
        Session(Counting(), store, "files").call("load_data", {"path": "a"})
        late = Counting()
        session = Session(late, store, "files")
        session.call("load_data", {"path": "a"})
        session.call("view_slice", {"index": 2})
        assert late.calls == 2  # the load again, then the new call
        changed = Counting()
        changed.call = lambda tool, arguments: Observation(True, "other")  # type: ignore[method-assign]
        session = Session(changed, store, "files")
        session.call("load_data", {"path": "a"})
        with pytest.raises(UserError, match="gives something else than what is stored"):
            session.call("view_slice", {"index": 3})


def test_a_call_that_another_process_stored_is_made_on_an_open_server_too(tmp_path: Path) -> None:
    """Else the server lacks what that call opened, and the next call fails for no fault of the agent."""
    with ToolStore(tmp_path / "tools.sqlite") as store:
        mine, theirs = Counting(), Counting()
        session, other = Session(mine, store, "files"), Session(theirs, store, "files")
        session.call("load_data", {})  # opens my server
        for tool in ("load_data", "load_mask"):
            other.call(tool, {})
        session.call("load_mask", {})  # from the store
        assert mine.calls == 1
        session.call("view_slice", {})
        assert mine.calls == 3


def test_a_time_out_of_a_tool_is_a_fault_of_the_machine_and_is_not_stored(tmp_path: Path) -> None:
    late = Counting()
    late.call = lambda tool, arguments: Observation(False, "E_LIMIT: the call took longer than 120 s; crop.")  # type: ignore[method-assign]
    with ToolStore(tmp_path / "tools.sqlite") as store:
        with pytest.raises(LateToolError):
            Session(late, store, "files").call("load_data", {})
        assert len(store) == 0


def test_other_files_and_other_open_things_are_other_calls(tmp_path: Path) -> None:
    with ToolStore(tmp_path / "tools.sqlite") as store:
        keys = set()
        for files, first in (("one", "load_data"), ("two", "load_data"), ("one", "load_mask")):
            session = Session(Counting(), store, files)
            session.call(first, {})
            keys.add(session.call("view_slice", {})[0])
        assert len(keys) == 3


def test_a_damaged_record_is_made_again(tmp_path: Path) -> None:
    with ToolStore(tmp_path / "tools.sqlite") as store:
        key, _ = Session(Counting(), store, "files").call("load_data", {})
        store._db.execute("UPDATE calls SET record = replace(record, 'load', 'loaf')")
        assert store.get(key) is None
        again = Counting()
        Session(again, store, "files").call("load_data", {})
        assert again.calls == 1
        assert store.get(key) is not None


# --- limits ---------------------------------------------------------------------------------------------------------


def _limited(
    phantoms: tuple[Path, list[dict[str, Any]]], items: list[Item], turns: list[str], limits: AgentLimits,
    tmp_path: Path,
) -> tuple[Any, Any]:  # fmt: skip
    from slicewise.infer.agent.backend import case_of, drive
    from slicewise.infer.agent.loop import Run

    class Fixed:
        def __init__(self) -> None:
            self.turns = iter(turns)
            self.told: list[str] = []

        def next(self, case: Any, notes: Any, tools: Any) -> str:
            self.told = [note.text for note in notes]
            return next(self.turns)

    toolbox = McpToolbox(phantoms[0])
    case = case_of(items[0], phantoms[0])
    assert not isinstance(case, Answer)
    with ToolStore(tmp_path / "tools.sqlite") as store:
        policy = Fixed()
        run = Run(case, policy, toolbox.tools(), Session(toolbox, store, case.files), limits)
        drive([run], None, 60)
    return run, policy


def test_after_the_last_call_only_an_answer_counts(
    phantoms: tuple[Path, list[dict[str, Any]]], items: list[Item], tmp_path: Path
) -> None:
    presets = protocol.action(OK, "list_window_presets", {})
    run, policy = _limited(phantoms, items, [presets] * 3, AgentLimits(steps=2), tmp_path)
    assert (run.end, run.calls, run.answer) == ("steps", 2, None)
    assert any("No tool calls are left" in text for text in policy.told)
    final = protocol.final(OK, r"\boxed{A}")
    run, _ = _limited(phantoms, items, [presets, presets, final], AgentLimits(steps=2), tmp_path)
    assert (run.end, run.answer) == ("answer", r"\boxed{A}")


def test_a_broken_format_is_asked_for_once_more(
    phantoms: tuple[Path, list[dict[str, Any]]], items: list[Item], tmp_path: Path
) -> None:
    run, _ = _limited(phantoms, items, ["hm", "hm", "hm"], AgentLimits(), tmp_path)
    assert [step.status for step in run.trajectory.steps] == ["format_error", "format_error", "limit"]
    assert run.answer is None
    unboxed = protocol.final(OK, "It is B.")
    run, _ = _limited(phantoms, items, [unboxed, unboxed], AgentLimits(), tmp_path)
    assert run.answer == "It is B."  # read by the parsers like any answer; the errors are counted
