"""Make the sample report ``data/solar_report.pdf``.

The report is the invented annual report of a village solar co-operative: three
pages with one heading each, where some facts stand on one page only. It serves as
the PDF of the sample collection.

Run it from the root of the repository::

    python scripts/make_sample_pdf.py

It needs reportlab (BSD licence), which only development needs. The output is
deterministic (``invariant``: no time stamp, no random id; pages uncompressed), so
that with the same reportlab a second run writes the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.enums import TA_LEFT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import cm
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

OUTPUT = Path("data") / "solar_report.pdf"
TITLE = "Netherby Fold Solar Co-operative: Annual Report 2023"

PAGES: list[tuple[str, list[str]]] = [
    (
        TITLE,
        [
            "The Netherby Fold Solar Co-operative was founded in 2016 by 43 "
            "households of the village. At the end of 2023 it had 118 members, nine "
            "more than a year before. Each member holds at least one share of 250 "
            "pounds and has one vote, however many shares he or she owns.",
            "The co-operative runs two plants. The older one covers the roof of the "
            "sheep market with 412 panels. The newer one stands on the former quarry "
            "and was connected to the grid on 19 May 2021. It has 960 panels on steel "
            "frames, and sheep keep the grass short between the rows.",
            "This report was adopted at the general meeting on 24 February 2024. The "
            "chair was Wilhelmina Tarr, who has led the co-operative since the "
            "beginning. She thanked the volunteers, who gave 1,270 hours of unpaid "
            "work during the year.",
        ],
    ),
    (
        "Energy and Operation",
        [
            "Both plants together produced 486,300 kilowatt hours in 2023. That is "
            "3.4 per cent less than in 2022, because June and July were unusually "
            "cloudy. The best day was 27 May, with 3,114 kilowatt hours. The weakest "
            "month was December, when snow lay on the panels for eight days.",
            "A hailstorm on 11 August cracked 17 panels at the quarry. They were "
            "replaced within five weeks, and the insurance paid all but 500 pounds of "
            "the bill. One inverter failed in October after a marten had bitten "
            "through a cable. Since then every cable duct has been closed with steel "
            "mesh.",
            "The battery in the old pump house was tested for the first time. It "
            "stores 220 kilowatt hours and supplied the village school during the "
            "power cut of 3 November. Its cooling circuit is filled to a pressure of "
            "1.8 bar, and an alarm sounds if it falls below 1.1 bar.",
        ],
    ),
    (
        "Finances and Outlook",
        [
            "Income from the sale of electricity was 71,940 pounds. Running costs "
            "came to 28,615 pounds, of which insurance was the largest part. After "
            "loan payments a surplus of 16,200 pounds remained. The members decided "
            "to pay a dividend of 3.5 per cent and to put the rest into the reserve.",
            "The loan from the Calder Valley Credit Union will be paid off in March "
            "2029. The auditor, Ephraim Stott, found the books in good order and "
            "asked only that petty cash be counted every month.",
            "For 2024 the co-operative plans two charging points for electric cars "
            "beside the chapel. They will cost 13,750 pounds, and a county grant "
            "covers 40 per cent of that. A third plant on the roof of the dairy is "
            "under study. The next general meeting will be held on 22 February 2025 "
            "in the school hall.",
        ],
    ),
]


def build(output: Path = OUTPUT) -> None:
    """Write the report to ``output``."""
    heading = ParagraphStyle("heading", fontName="Helvetica-Bold", fontSize=16, leading=20, spaceAfter=16)
    body = ParagraphStyle(
        "body",
        fontName="Helvetica",
        fontSize=11,
        leading=15,
        spaceAfter=10,
        alignment=TA_LEFT,
    )
    story: list[object] = []
    for number, (title, paragraphs) in enumerate(PAGES):
        if number:
            story.append(PageBreak())
        story.append(Paragraph(title, heading))
        story.extend(Paragraph(text, body) for text in paragraphs)
    document = SimpleDocTemplate(
        str(output),
        pagesize=A4,
        leftMargin=2.5 * cm,
        rightMargin=2.5 * cm,
        topMargin=2.5 * cm,
        bottomMargin=2.5 * cm,
        title=TITLE,
        author="Netherby Fold Solar Co-operative",
        pageCompression=0,
        invariant=1,
    )
    document.build(story)


if __name__ == "__main__":
    build()
    print(f"wrote {OUTPUT.as_posix()}")
