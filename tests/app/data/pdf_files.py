"""Small PDFs, made by hand."""

from __future__ import annotations


def pdf(content: bytes, dictionary: str = "", n_pages: int = 1) -> bytes:
    """A PDF whose pages all have the drawing operators `content`, in a stream with `dictionary` entries."""
    pages = " ".join(["3 0 R"] * n_pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{pages}] /Count {n_pages} >>".encode(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} {dictionary} >>\nstream\n".encode() + content + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    file, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(file))
        file += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    tail = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return file + f"{tail}startxref\n{len(file)}\n%%EOF\n".encode()


def drawn(text: str) -> bytes:
    """Operators that draw `text`."""
    return f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
