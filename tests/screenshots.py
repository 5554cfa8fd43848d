"""Saves pictures of the window's main states: `python -m tests.screenshots [FOLDER]`, run by hand.

Works without a screen. Look at the pictures: alignment, spacing, contrast, truncated words.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["WEIR_HOME"] = tempfile.mkdtemp(prefix="weir-screenshots-")

from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication, QMenu

from app.data.chat_store import ChatStore
from app.data.stored_message import Attachment, MessageState, TurnNumbers
from app.services.chat_controller import ChatController
from app.services.load_plans import LoadPlans
from app.views.theme import apply_theme
from app.window import Weir
from engine.dry_run import Refused
from engine.protocol import DeviceMemory, Endurance, FinishReason, Gauges, PrefillProgress
from tests.app import planned_machine
from tests.app.scripted_engine import ScriptedEngine

REPLY = """Here is a first plan for **Yazd**, with time to rest at noon.

## The second day

1. Walk to the *Jameh Mosque* before eight, while it is cool.
2. Tea on a roof; the wind towers (`badgir`) are best seen from above.
3. The water museum shows how a `qanat` works.

| Hour | Place | Cost |
|------|-------|-----:|
| 8:00 | Jameh Mosque | 2 |
| 11:00 | Water museum | 3 |
| 17:00 | Towers of Silence | 4 |

```python
def days(budget: float, per_day: float) -> int:
    # std::vector<T>& stays visible, and so does a < b && c > d
    return int(budget // per_day)
```

> A guest is a gift of God.

See [the city's page](https://example.org) for the opening hours.
"""
RTL = """مرحبا بالعالم. هذا نص عربي طويل بما يكفي ليملأ أكثر من سطر واحد حتى
نرى كيف ينكسر السطر من اليمين إلى اليسار.

Python هي لغة برمجة.

- שלום עולם
- سلام دنیا

```python
print('שלום')
```

Hello there.
"""
GAUGES = Gauges(41.2, 380.0, 210.0, 5300, 8192, 128_000_000, 188_743_680, 412_000_000, ())


class Studio:
    """One window with a scripted engine."""

    def __init__(self, application: QApplication, folder: Path) -> None:
        self.application = application
        self.folder = folder
        self.engine = ScriptedEngine()
        self.weir = Weir(self.engine, Path("/models/SmolLM2-135M-Instruct-Q4_1.gguf"))
        self.weir.window.resize(1120, 760)
        self.weir.show()
        self.settle()

    def settle(self) -> None:
        for _ in range(10):
            self.application.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.settle()
            time.sleep(0.02)

    def save(self, name: str) -> None:
        self.settle()
        self.weir.window.grab().save(str(self.folder / f"{name}.png"))

    @property
    def store(self) -> ChatStore:
        assert self.weir.open is not None
        return self.weir.open.store

    @property
    def controller(self) -> ChatController:
        assert self.weir.open is not None
        return self.weir.open.controller

    def chat(self, *turns: tuple[str, str]) -> str:
        chat = self.store.create_chat()
        for question, answer in turns:
            asked = self.store.add_user_message(chat.id, question)
            reply = self.store.begin_reply(asked, "SmolLM2 135M Instruct")
            self.store.finish_reply(reply.id, answer, MessageState.COMPLETE, TurnNumbers(118, 41.2, 210, 380))
        return chat.id

    def open(self, chat_id: str | None) -> None:
        assert self.weir.open is not None
        self.weir.open.list.refresh()
        self.controller.open(chat_id)
        self.settle()

    def write(self, text: str) -> None:
        self.weir.window.composer.edit.set_text(text)
        self.weir.window.composer.send_requested.emit()
        self.settle()


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "tests/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    application = QApplication([])
    apply_theme(application, "light")
    studio = Studio(application, folder)
    for state in (
        empty,
        streaming,
        rich,
        pages,
        load_plan,
        long_chat,
        right_to_left,
        dark,
        sight,
        endings,
        error,
        small,
    ):
        state(studio)
    studio.weir.window.close()


def empty(studio: Studio) -> None:
    studio.save("1-loading")
    studio.engine.newest.load(name="SmolLM2 135M Instruct")
    studio.save("2-empty")


def streaming(studio: Studio) -> None:
    studio.chat(("Lifetimes in Rust, in three sentences", "A lifetime names a region of code."))
    trip = studio.chat(("Help me plan a trip to Yazd. The code word is PELICAN-7.", REPLY))
    studio.open(trip)
    studio.write("And what should I read before I go?")
    request = studio.engine.newest.requests[-1].request_id
    studio.engine.newest.say(PrefillProgress(request, 2100, 6000))
    studio.save("3-reading")
    studio.engine.newest.write(
        "Three books come to mind:\n\n1. **The Way of the World**, by Nicolas Bouvier\n2. "
    )
    studio.engine.newest.say(GAUGES)
    studio.save("4-streaming")
    studio.engine.newest.finish("Three books come to mind.")


RICH = r"""<think>
The user wants the distance. Light travels at $c$.
So I need the time only.
</think>
The distance is the product of speed and time, $d = c \cdot t$, so that

$$\int_0^t c \, \mathrm{d}\tau = c\,t \approx 3 \times 10^8 \cdot t$$

- [x] first `std::vector<T>&`
- a < b && c > d
  1. nested
  2. again

```rust
fn main() { println!("{}", 299_792_458u64); }
```

It costs $5 and not $6. See https://example.org/light and ![a picture](http://127.0.0.1/p.png).
"""


def rich(studio: Studio) -> None:
    """Thinking, formulas, versions, a file; the thought folded and open."""
    chat = studio.store.create_chat()
    files = (Attachment("notes on light.py", "x = 1\n" * 200),)
    question = studio.store.add_user_message(chat.id, "How far does light travel?", files)
    for text in ("About a foot in a nanosecond.", RICH):
        reply = studio.store.begin_reply(question, "Thinker 8B")
        numbers = TurnNumbers(218, 41.2, 210, 380, thinking_ms=12_300.0)
        studio.store.finish_reply(reply.id, text, MessageState.COMPLETE, numbers)
    studio.open(chat.id)
    studio.wait(2.0)  # the formulas are set meanwhile
    studio.weir.window.transcript.verticalScrollBar().setValue(0)
    studio.save("40-rich")
    view = studio.weir.window.transcript.message_view(1)
    assert view is not None
    view.thinking.toggle.click()
    apply_theme(studio.application, "dark")
    studio.wait(1.0)
    studio.weir.window.transcript.verticalScrollBar().setValue(0)
    studio.save("41-thought-dark")
    apply_theme(studio.application, "light")


def pages(studio: Studio) -> None:
    """Settings, a chat's options, shortcuts, the palette, the memory panel, a search."""
    weir = studio.weir
    for number, name in enumerate(("settings", "shortcuts")):
        weir.pages.open(name)
        studio.save(f"5{number}-{name}")
    weir.pages.open_chat_options()
    studio.save("52-this-chat")
    weir.window.show_page(None)
    weir.commands.carry_out("palette")
    weir.window.palette_of_commands.field.setText("exp")
    studio.save("53-palette")
    weir.window.palette_of_commands.close_palette()
    weir.window.memory.open_panel()
    studio.wait(1.2)
    studio.save("54-memory")
    apply_theme(studio.application, "dark")
    weir.window.memory.refresh()
    studio.save("55-memory-dark")
    weir.pages.open_settings()
    studio.save("56-settings-dark")
    weir.window.show_page(None)
    apply_theme(studio.application, "light")
    weir.window.memory.close_panel()
    weir.window.sidebar.begin_search()
    weir.window.sidebar.finder.field.setText("yazd")
    studio.wait(1.0)
    studio.save("57-search")
    weir.window.sidebar.finder.field.clear()


def load_plan(studio: Studio) -> None:
    """Before a load: a model that fits, one that does not, one that llama.cpp refuses; after it."""
    gib = 2**30
    bench = planned_machine.Bench(Path(tempfile.mkdtemp(prefix="weir-screenshots-models-")))
    devices = planned_machine.cpu(11 * gib), planned_machine.card(7 * gib)
    bench.hardware = planned_machine.machine(*devices)
    weir, path = studio.weir, bench.model("Thinker-8B-Q4_K_M")
    weir.plans = LoadPlans(bench.sources(), weir.loader, weir.history)
    weir.pages.open_load_plan(path)
    studio.save("58-plan-fits")
    apply_theme(studio.application, "dark")
    studio.save("58-plan-fits-dark")
    bench.hardware = planned_machine.machine(planned_machine.cpu(7 * gib // 10, others=12 * gib))
    weir.pages.open_load_plan(path)
    studio.save("59-plan-does-not-fit-dark")
    apply_theme(studio.application, "light")
    studio.save("59-plan-does-not-fit")
    studio.application.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    studio.save("59-plan-does-not-fit-right-to-left")
    bench.hardware = planned_machine.machine(*devices)
    weir.pages.open_load_plan(path)
    studio.save("58-plan-fits-right-to-left")
    studio.application.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    bench.exact = lambda _shape: Refused("Thinker-8B-Q4_K_M.gguf cannot be loaded: unknown architecture.")
    weir.pages.open_load_plan(path)
    studio.save("60-plan-refused")
    weir.window.resize(683, 384)
    bench.exact = lambda _shape: None
    weir.pages.open_load_plan(path)
    studio.save("61-plan-small")
    weir.window.resize(1120, 760)
    weir.window.show_page(None)


def long_chat(studio: Studio) -> None:
    chat = studio.chat(*((f"Question {n}: what comes after {n}?", REPLY) for n in range(100)))
    studio.open(chat)
    bar = studio.weir.window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    studio.save("5-long")


def right_to_left(studio: Studio) -> None:
    studio.open(studio.chat(("سلام! لطفاً به فارسی و انگلیسی جواب بده.", RTL)))
    studio.weir.window.composer.edit.set_text("این یک پیش‌نویس است\nand this line is English")
    studio.save("6-right-to-left")


def dark(studio: Studio) -> None:
    apply_theme(studio.application, "dark")
    studio.save("7-dark-right-to-left")
    studio.open(studio.chat(("Help me plan a trip to Yazd.", REPLY)))
    card = DeviceMemory("CUDA0", "RTX 4060", "gpu", 3_100_000_000, 8_585_000_000)
    studio.engine.newest.say(
        Gauges(None, 1380, 95, 5300, 8192, 128_000_000, 188_743_680, 1_512_000_000, (card,))
    )
    studio.save("8-dark")
    apply_theme(studio.application, "light")


def sight(studio: Studio) -> None:
    """The line above which the model does not see, with a pin above it; a forecast; an edit."""
    client, window = studio.engine.newest, studio.weir.window
    turns = [("You are helping me plan a trip. The code word is PELICAN-7.", "I will keep it in mind.")]
    turns += [
        (f"And day {day}?", f"On day {day} we walk along the river, and rest at noon.") for day in range(2, 9)
    ]
    chat = studio.chat(*turns)
    studio.store.set_pinned(studio.store.messages(chat)[0].id, True)
    client.answers = False
    studio.open(chat)
    client.see(12, still_seen=(0,))
    studio.settle()
    window.transcript.verticalScrollBar().setValue(420)
    studio.save("20-forecast")
    studio.write("And the way back?")
    client.see(10, still_seen=(0,), partly=True, n_sinks=700, n_window=4510)
    client.finish(
        "By train along the lake.",
        tokens_reused=5348,
        tokens_prefilled=24,
        tokens_evicted=512,
        reevaluated_because="edited message 4",
    )
    client.say(GAUGES)
    studio.settle()
    window.transcript.scroll_to_end()
    studio.save("21-line")
    window.transcript.verticalScrollBar().setValue(0)
    studio.save("22-pinned-above-the-line")
    apply_theme(studio.application, "dark")
    window.transcript.scroll_to_end()
    studio.save("23-line-dark")
    window.transcript.verticalScrollBar().setValue(0)
    studio.save("24-pinned-dark")
    apply_theme(studio.application, "light")
    studio.controller.begin_edit(studio.weir.transcript.message_at(14).id)
    studio.save("25-editing")
    window.composer.send_requested.emit()
    studio.settle()
    client.see(9, still_seen=(0,))
    client.write("Day eight is for the museum.")
    studio.save("26-edited")
    client.finish("Day eight is for the museum.")
    studio.settle()
    window.model_bar.cache.fill_menu()
    for number, action in enumerate(window.model_bar.cache.menu_shown.actions()):
        menu = action.menu()
        if isinstance(menu, QMenu):
            menu.ensurePolished()
            menu.adjustSize()
            menu.grab().save(str(studio.folder / f"27-menu-{number}.png"))
    window.resize(683, 384)
    window.transcript.scroll_to_end()
    studio.save("28-line-small")
    window.resize(1120, 760)
    client.answers = True


def endings(studio: Studio) -> None:
    """A reply that the full context ended, and a model that cannot let go of single turns."""
    client = studio.engine.newest
    studio.open(studio.chat(("Tell me of the river.", REPLY)))
    studio.write("Go on.")
    client.finish("The river runs through the valley and", FinishReason.CONTEXT_FULL)
    studio.save("30-context-full")
    reason = (
        "This model's state cannot forget single turns: the newest turns, up to 8,192 tokens, are read again"
    )
    studio.weir.loader.load("/models/mamba.gguf")
    studio.engine.newest.load(
        endurance=Endurance.CANNOT, endurance_reason=f"{reason} whenever the context is full."
    )
    studio.open(None)
    studio.save("31-cannot")


def error(studio: Studio) -> None:
    studio.weir.loader.load("/models/broken.gguf")
    studio.save("9-loading-another")
    studio.engine.newest.refuse(
        "broken.gguf is cut short: its header promises 98,000,000 bytes, it has 49,000,000."
    )
    studio.save("10-refused")
    studio.weir.window.banner.clear_general()
    studio.weir.loader.load("/models/odd-template.gguf")
    studio.engine.newest.load(
        chat_format="chatml", chat_format_reason="the file has no chat template of its own"
    )
    studio.settle()
    studio.save("11-chat-format")
    studio.write("Hello")
    studio.engine.newest.write("Hello! How")
    studio.settle()
    studio.engine.newest.die()
    studio.save("12-died")


def small(studio: Studio) -> None:
    studio.weir.window.resize(900, 600)
    studio.save("13-small")
    studio.engine.newest.load()
    studio.settle()
    studio.engine.newest.say(GAUGES)
    studio.weir.window.resize(683, 384)
    studio.save("14-scaled-twice-on-1366x768")


if __name__ == "__main__":
    main()
