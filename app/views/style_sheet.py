"""The style sheet of the whole application, area by area.

`Tokens` go in, Qt style sheet text comes out. Object names and properties are set where the widgets are
made; a rule stands with the area that its widgets belong to.
"""

from __future__ import annotations

from app.views.tokens import Tokens


def style_sheet(t: Tokens) -> str:
    """The rules of all areas, in the colours of `t`."""
    areas = (
        *(_controls, _chat_list, _model_bar, _messages, _composer),
        *(_gauges, _notices, _pages, _settings, _plan, _library, _discover, _downloads, _benchmarks),
    )
    return "\n".join(area(t) for area in areas)


def _controls(t: Tokens) -> str:
    return f"""
QToolTip {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.border}; padding: 4px; }}
#main {{ background: {t.surface}; }}
QSplitter::handle {{ background: {t.border}; }}
QLabel[muted="true"] {{ color: {t.muted}; }}
QLabel[strong="true"] {{ font-weight: 600; }}
QPushButton, QToolButton {{ border: 1px solid transparent; border-radius: 6px; padding: 5px 12px;
  background: transparent; color: {t.text}; }}
QPushButton:hover, QToolButton:hover {{ background: {t.border}; }}
QPushButton:focus, QToolButton:focus {{ border-color: {t.accent}; }}
QToolButton::menu-indicator {{ image: none; width: 0; }}
QCheckBox::indicator:unchecked {{ background: {t.surface}; border: 1px solid {t.field}; border-radius: 2px;
  width: 11px; height: 11px; }}
QCheckBox::indicator:unchecked:focus {{ border-color: {t.accent}; }}
QProgressBar {{ background: {t.border}; border: none; border-radius: 2px; max-height: 4px; }}
QProgressBar::chunk {{ background: {t.accent}; border-radius: 2px; }}
QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
QScrollBar::handle:vertical {{ background: {t.border}; border-radius: 4px; margin: 2px; min-height: 32px; }}
QScrollBar::handle:vertical:hover {{ background: {t.muted}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; width: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QMenu {{ background: {t.raised}; border: 1px solid {t.border}; padding: 4px; }}
QMenu::item {{ padding: 5px 24px 5px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {t.selection}; color: {t.text}; }}
QMenu::item:disabled {{ color: {t.muted}; }}
QMenu::separator {{ height: 1px; background: {t.border}; margin: 4px 8px; }}
"""


def _chat_list(t: Tokens) -> str:
    return f"""
#sidebar {{ background: {t.sidebar}; }}
#sidebar QListView {{ background: transparent; border: none; outline: none; }}
#sidebar QListView::item {{ padding: 7px 10px; border-radius: 6px;
  border: 1px solid transparent; color: {t.text}; }}
#sidebar QListView::item:hover {{ background: {t.border}; }}
#sidebar QListView::item:selected {{ background: {t.selection}; color: {t.text}; }}
#sidebar QListView::item:focus {{ border-color: {t.accent}; }}
#sidebar QListView QLineEdit {{ background: {t.surface}; border: 1px solid {t.accent}; padding: 2px 4px; }}
#sidebar QToolButton {{ padding: 2px; }}
#sidebar QToolButton:checked {{ background: {t.selection}; }}
#newChat {{ background: {t.raised}; border: 1px solid {t.border}; text-align: left; }}
#newChat:hover, #newest:hover {{ border-color: {t.accent}; background: {t.raised}; }}
#newChat:focus {{ border-color: {t.accent}; }}
#searchField {{ background: {t.surface}; border: 1px solid {t.field}; border-radius: 6px; padding: 5px 4px;
  placeholder-text-color: {t.muted}; }}
#searchField:focus {{ border-color: {t.accent}; }}
"""


def _model_bar(t: Tokens) -> str:
    return f"""
#modelBar, #statusStrip {{ background: {t.window}; }}
#modelBar {{ border-bottom: 1px solid {t.border}; }}
#modelButton {{ font-weight: 600; text-align: left; }}
#facts {{ color: {t.muted}; padding: 4px 8px; }}
#facts[warns="true"] {{ color: {t.warning}; }}
"""


def _messages(t: Tokens) -> str:
    return f"""
#quiet {{ color: {t.muted}; padding: 1px 6px; }}
#newest {{ background: {t.raised}; border: 1px solid {t.border}; border-radius: 11px; padding: 3px 14px; }}
#sightLine {{ padding: 0; }}
#mark {{ color: {t.accent}; }}
#mark[lost="true"] {{ color: {t.warning}; }}
#messageBody[dimmed="true"], ElidingLabel[dimmed="true"] {{ color: {t.muted}; }}
#ownMessage {{ background: {t.own}; border-radius: 10px; }}
#ownMessage[dimmed="true"] {{ background: {t.window}; }}
#messageBody {{ background: transparent; border: none; }}
#variant {{ background: {t.surface}; border: 1px solid {t.border}; border-radius: 10px; }}
#variant:focus {{ border-color: {t.accent}; }}
#quiet[choose="true"] {{ color: {t.accent}; font-weight: 600; border-color: {t.border}; }}
#quiet[choose="true"]:hover, #quiet[choose="true"]:focus {{ border-color: {t.accent}; }}
#codeCopy {{ color: {t.muted}; padding: 2px 8px; }}
#codeCopy:hover {{ color: {t.text}; }}
#thinkingToggle {{ color: {t.muted}; padding: 2px 6px; }}
#thinkingToggle:hover {{ color: {t.text}; }}
"""


def _composer(t: Tokens) -> str:
    return f"""
#send {{ background: {t.accent}; color: {t.on_accent}; font-weight: 600; min-width: 68px; }}
#several {{ padding: 5px 6px; }}
#several:disabled {{ color: {t.muted}; background: transparent; }}
#send:focus {{ border-color: {t.text}; }}
#send:disabled {{ background: {t.border}; color: {t.muted}; }}
#send[stop="true"] {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.accent}; }}
#composer {{ background: {t.raised}; border: 1px solid {t.field}; border-radius: 10px; }}
#composer[active="true"] {{ border-color: {t.accent}; }}
#composer QPlainTextEdit {{ background: transparent; border: none; color: {t.text};
  placeholder-text-color: {t.muted}; }}
#editing {{ color: {t.accent}; }}
#attach {{ color: {t.muted}; padding: 5px 8px; }}
#attach:hover {{ color: {t.text}; }}
#counts {{ color: {t.muted}; }}
#counts[problem="true"], #problem {{ color: {t.warning}; }}
#chips, #chipRoom {{ background: transparent; }}
#chip {{ background: {t.own}; border: 1px solid {t.border}; border-radius: 8px; }}
#chip[refused="true"] {{ background: {t.warning_surface}; border-color: {t.warning_border}; }}
#chip QLabel[refused="true"], #removeChip[refused="true"] {{ color: {t.warning}; }}
#removeChip {{ color: {t.muted}; padding: 0; font-size: 16px; }}
#removeChip:hover {{ color: {t.text}; }}
"""


def _gauges(t: Tokens) -> str:
    return f"""
#statusStrip {{ border-top: 1px solid {t.border}; }}
#statusStrip QProgressBar {{ background: transparent; border-radius: 0; max-height: 3px; }}
#statusStrip QProgressBar::chunk {{ border-radius: 0; }}
#memoryPanel {{ background: {t.surface}; border-top: 1px solid {t.border}; }}
#memoryPicture, #memoryPanel QScrollArea {{ background: transparent; }}
"""


def _notices(t: Tokens) -> str:
    return f"""
#banner, #formatLine {{ background: {t.warning_surface}; border: 1px solid {t.warning_border};
  border-radius: 8px; }}
#banner QLabel, #formatLine QLabel {{ color: {t.warning}; }}
#banner QPushButton, #formatLine QToolButton {{ color: {t.warning}; border: 1px solid {t.warning_border}; }}
#banner QPushButton:focus, #formatLine QToolButton:focus {{ border-color: {t.warning}; }}
#banner[calm="true"] {{ background: {t.raised}; border-color: {t.border}; }}
#banner[calm="true"] QLabel {{ color: {t.text}; }}
#banner[calm="true"] QPushButton {{ color: {t.text}; border-color: {t.border}; }}
#banner[calm="true"] QPushButton:focus {{ border-color: {t.accent}; }}
#banner QPushButton:hover, #formatLine QToolButton:hover {{
  border-color: {t.warning}; background: none; }}
"""


def _pages(t: Tokens) -> str:
    return f"""
#page, #pageContent {{ background: {t.surface}; }}
#pageTitle, #emptyTitle {{ font-size: 20px; font-weight: 600; color: {t.text}; }}
#pageButton, #example {{ background: {t.raised}; border: 1px solid {t.border}; }}
#pageButton {{ padding: 7px 16px; }}
#example {{ border-radius: 8px; }}
#pageButton:hover, #pageButton:focus, #example:hover, #example:focus {{
  border-color: {t.accent}; background: {t.own}; }}
#keys {{ background: {t.code}; border: 1px solid {t.border}; border-radius: 4px; padding: 2px 7px;
  color: {t.text}; }}
#palette {{ background: {t.raised}; border: 1px solid {t.border}; border-radius: 10px; }}
#palette QLineEdit {{ background: {t.surface}; border: 1px solid {t.accent}; border-radius: 6px;
  padding: 7px 9px; placeholder-text-color: {t.muted}; }}
#palette QListView {{ background: transparent; border: none; outline: none; }}
#palette QListView::item {{ padding: 6px 10px; border-radius: 6px; color: {t.text}; }}
#palette QListView::item:hover {{ background: {t.code}; }}
#palette QListView::item:selected {{ background: {t.selection}; color: {t.text}; }}
"""


def _settings(t: Tokens) -> str:
    return f"""
#groupTitle {{ font-weight: 600; }}
PromptEdit, PresetNameRow QLineEdit {{ border: 1px solid {t.field}; border-radius: 2px; }}
PromptEdit:focus, PresetNameRow QLineEdit:focus {{ border-color: {t.accent}; }}
#formButton {{ background: {t.raised}; border: 1px solid {t.border}; }}
QToolButton#formButton {{ padding: 4px 12px; }}
#formButton:hover, #formButton:focus {{ border-color: {t.accent}; }}
#formButton:disabled, #formButton[inert="true"] {{ color: {t.muted}; }}
#formButton[inert="true"]:hover:!focus {{ border-color: {t.border}; background: {t.raised}; }}
#reset {{ color: {t.accent}; padding: 2px 8px; }}
#reloadLine {{ background: {t.own}; border-radius: 8px; }}
QLabel[warns="true"] {{ color: {t.warning}; }}
"""


def _plan(t: Tokens) -> str:
    return f"""
#planVerdict {{ background: {t.own}; border: 1px solid {t.border}; border-radius: 8px; }}
#planVerdict[warns="true"] {{ background: {t.warning_surface}; border-color: {t.warning_border}; }}
#planFoot {{ border-top: 1px solid {t.border}; }}
"""


def _library(t: Tokens) -> str:
    return f"""
#modelTabs::tab {{ background: transparent; color: {t.muted}; padding: 5px 12px; margin-right: 4px;
  border: 1px solid transparent; border-radius: 6px; }}
#modelTabs::tab:hover {{ background: {t.border}; color: {t.text}; }}
#modelTabs::tab:selected {{ background: {t.selection}; color: {t.text}; }}
#modelTabs:focus::tab:selected {{ border-color: {t.accent}; }}
#library {{ background: transparent; border: none; outline: none; }}
#library::item {{ border-radius: 6px; border: 1px solid transparent; }}
#library::item:hover {{ background: {t.code}; }}
#library::item:selected {{ background: {t.selection}; }}
#library::item:focus {{ border-color: {t.accent}; }}
#library QLineEdit {{ background: {t.surface}; border: 1px solid {t.accent}; padding: 2px 4px; }}
"""


def _discover(t: Tokens) -> str:
    return f"""
#remoteFile {{ border: none; border-bottom: 1px solid {t.border}; }}
#proposal {{ background: {t.raised}; border: 1px solid {t.border}; border-radius: 8px; }}
#tokenField {{ background: {t.surface}; border: 1px solid {t.field}; border-radius: 6px; padding: 5px 8px;
  placeholder-text-color: {t.muted}; }}
#tokenField:focus {{ border-color: {t.accent}; }}
"""


def _downloads(t: Tokens) -> str:
    return f"""
#download {{ background: {t.raised}; border: 1px solid {t.border}; border-radius: 8px; }}
#download:focus {{ border-color: {t.accent}; }}
"""


def _benchmarks(t: Tokens) -> str:
    return f"""
#numbers {{ background: {t.surface}; border: 1px solid {t.field}; border-radius: 2px; padding: 2px 6px;
  placeholder-text-color: {t.muted}; }}
#numbers:focus {{ border-color: {t.accent}; }}
#numbers:disabled {{ color: {t.muted}; }}
#benchModels {{ background: {t.surface}; border: 1px solid {t.field}; border-radius: 2px; outline: none; }}
#benchModels:focus {{ border-color: {t.accent}; }}
#benchModels::item, #benchResults::item {{ padding: 3px 4px; border: 1px solid transparent;
  color: {t.text}; }}
#benchModels::item:selected, #benchResults::item:selected {{ background: {t.selection}; color: {t.text}; }}
#benchResults, #benchTable {{ background: {t.surface}; outline: none; }}
#benchResults QScrollBar:horizontal, #benchTable QScrollBar:horizontal {{ background: transparent;
  height: 12px; margin: 0; }}
#benchResults QScrollBar::handle:horizontal, #benchTable QScrollBar::handle:horizontal {{
  background: {t.border}; border-radius: 4px; margin: 2px; min-width: 32px; }}
#benchResults QScrollBar::handle:horizontal:hover, #benchTable QScrollBar::handle:horizontal:hover {{
  background: {t.muted}; }}
#benchModels::indicator:unchecked, #benchResults::indicator:unchecked {{ background: {t.surface};
  border: 1px solid {t.field}; border-radius: 2px; width: 11px; height: 11px; }}
#benchResults QLineEdit {{ background: {t.surface}; border: 1px solid {t.accent}; padding: 0 4px; }}
#benchTable::item {{ padding: 2px 8px; }}
#benchResults QHeaderView, #benchTable QHeaderView, #benchTable QTableCornerButton::section {{
  background: transparent; border: none; }}
#benchResults QHeaderView::section, #benchTable QHeaderView::section {{ background: {t.surface};
  color: {t.muted}; border: none; border-bottom: 1px solid {t.border}; padding: 4px 8px; }}
#benchTable QHeaderView::section:vertical {{ border-bottom: none; padding-left: 0; }}
#benchTable QHeaderView::section:horizontal {{ color: {t.text}; font-weight: 600; }}
"""
