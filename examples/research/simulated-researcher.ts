import type { AnswerStep, SimulatedMessage, SimulatedRequest, SimulatorRule } from "@proviso/simulator";

interface Found {
  readonly path: string;
  readonly quotes: readonly string[];
}

/** Stands in for a model that researches, reads and summarises: each by what the request shows it, and by nothing else. */
export function simulatedResearcher(): SimulatorRule {
  let hasMisquoted = false;
  return (request) => {
    if (request.system.startsWith("You summarise")) return summary(request);
    if (!request.system.startsWith("Read the document")) return research(request);
    const answer = reading(request);
    const { quotes } = (answer.output ?? { quotes: [] }) as { readonly quotes: readonly string[] };
    if (hasMisquoted || quotes.length === 0) return answer;
    // Once it remembers a sentence wrongly, as models do.
    hasMisquoted = true;
    return { output: { quotes: [`${quotes[0]?.slice(0, 24)} and nobody knows why.`] } };
  };
}

function reading({ messages, toolResults }: SimulatedRequest): AnswerStep {
  const task = messages.find(({ role }) => role === "user")?.text ?? "";
  const [, path = "", question = ""] = /^Document: (.*)\nQuestion: (.*)$/m.exec(task) ?? [];
  const read = toolResults().at(-1);
  if (read === undefined) return { toolCalls: [{ name: "read_text_file", arguments: { path } }] };
  const words = wordsOf(question);
  // An entry that has most of the question's words.
  const quotes = read.text
    .split("\n")
    .filter((line) => words.filter((word) => line.toLowerCase().includes(word)).length * 2 > words.length);
  return { output: { quotes } };
}

/** The words that carry a question. */
function wordsOf(question: string): readonly string[] {
  const small = new Set([
    "when",
    "was",
    "the",
    "and",
    "why",
    "what",
    "how",
    "who",
    "did",
    "for",
    "of",
    "in",
    "is",
    "a",
  ]);
  return question
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word !== "" && !small.has(word));
}

function research({ messages, toolResults, tools }: SimulatedRequest): AnswerStep {
  // The summary stands in a user's message, too.
  const question = messages.find(({ role, text }) => role === "user" && !text.startsWith("["))?.text ?? "";
  const { documents, asked, facts, leftOut } = knownFrom(messages, toolResults());
  if (documents.length === 0) return { toolCalls: [{ name: "list_directory", arguments: { path: "." } }] };
  const next = documents.filter((name) => !asked.has(name)).slice(0, 2);
  if (next.length > 0) {
    const toolCalls = next.map((name) => ({
      name: "ask_document",
      arguments: { path: name, question },
    }));
    return { toolCalls };
  }
  const ref = tools.some(({ name }) => name === "read_result") ? leftOut[0] : undefined;
  if (ref !== undefined) return { toolCalls: [{ name: "read_result", arguments: { ref } }] };
  const answer = facts.flatMap(({ quotes }) => quotes).join(" ");
  const sources = facts.map(({ path }) => path);
  return { output: { answer: answer === "" ? "The documents do not say." : answer, sources } };
}

interface Known {
  readonly documents: readonly string[];
  /** The documents that were asked, and answered. */
  readonly asked: ReadonlySet<string>;
  readonly facts: readonly Found[];
  /** References of results that became stubs, and were not read again. */
  readonly leftOut: readonly string[];
}

/** What the history shows: its summary, its results, and the stubs of those that were left out. */
function knownFrom(messages: readonly SimulatedMessage[], results: ReturnType<SimulatedRequest["toolResults"]>): Known {
  const summaries = messages.map(({ text }) => text).filter((text) => text.includes("Documents:"));
  const noted = notesIn(summaries.join("\n"));
  const documents = new Set(noted.documents);
  const facts = new Map(noted.facts.map((one) => [one.path, one]));
  const asked = new Set(noted.asked);
  const again = new Set<unknown>();
  const stubs: string[] = [];
  for (const { name, arguments: given, text } of results) {
    if (name === "list_directory") for (const document of listed(text)) documents.add(document);
    if (name === "read_result") again.add(given["ref"]);
    const [, ref] = /^\[Left out: .*"ref": "(\w+)"/.exec(text) ?? [];
    if (ref !== undefined) stubs.push(ref);
    for (const one of foundIn(text)) {
      asked.add(one.path);
      if (one.quotes.length > 0) facts.set(one.path, one);
    }
    if (name === "ask_document" && ref !== undefined) asked.add(String(given["path"]));
  }
  const sorted = [...facts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  return { documents: [...documents], asked, facts: sorted, leftOut: stubs.filter((ref) => !again.has(ref)) };
}

/** Notes of all that was asked and found, out of the conversation and the summary before it. */
function summary({ messages }: SimulatedRequest): AnswerStep {
  const text = messages
    .filter(({ role }) => role === "user")
    .map((message) => message.text)
    .join("\n");
  const noted = notesIn(text);
  const all = [...noted.facts, ...foundIn(text)];
  const documents = new Set([...noted.documents, ...listed(text)]);
  const asked = new Set([...noted.asked, ...all.map(({ path }) => path)]);
  const facts = new Map(all.filter(({ quotes }) => quotes.length > 0).map((one) => [one.path, one]));
  const lines = [
    `Documents: ${[...documents].join(", ")}.`,
    `Asked so far: ${[...asked].toSorted().join(", ")}.`,
    ...[...facts].map(([name, { quotes }]) => `Found: ${JSON.stringify({ path: name, quotes })}`),
  ];
  return { text: lines.join("\n") };
}

function notesIn(text: string): Pick<Known, "documents" | "facts"> & { readonly asked: readonly string[] } {
  const namesIn = (label: string): readonly string[] =>
    [...text.matchAll(new RegExp(`^${label}: (.*)\\.$`, "gm"))].flatMap(([, names = ""]) => names.split(", "));
  const facts = foundIn([...text.matchAll(/^Found: (.*)$/gm)].map(([, json = ""]) => json).join("\n"));
  return { documents: namesIn("Documents"), asked: namesIn("Asked so far"), facts };
}

function listed(text: string): readonly string[] {
  return [...text.matchAll(/\[FILE\] (\S+)/g)].map(([, name = ""]) => name);
}

/** The values of `ask_document` in a text. */
function foundIn(text: string): readonly Found[] {
  return [...text.matchAll(/\{"path":.*?"quotes":\[.*?\]\}/g)].flatMap(([json]) => {
    try {
      return [JSON.parse(json) as Found];
    } catch {
      return [];
    }
  });
}
