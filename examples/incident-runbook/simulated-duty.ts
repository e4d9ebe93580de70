import type { AnswerStep, SimulatedRequest } from "@proviso/simulator";

const mostSections = 2;

/**
 * Stands in for a model: it opens the sections whose summaries speak of the alert, measures, acts, and reports. What it
 * does next follows from the conversation and the tools that it is offered.
 */
export function simulatedDuty({ system, messages, tools, toolResults }: SimulatedRequest): AnswerStep {
  const alert = messages.find(({ role }) => role === "user")?.text ?? "";
  const results = toolResults();
  const offered = new Set(tools.map(({ name }) => name));
  const opened = results.some(({ name }) => name === "open_sections");
  if (offered.has("open_sections") && !opened) {
    const keys = fittingSections(system, alert);
    return { toolCalls: [{ name: "open_sections", arguments: { keys, reason: `the alert: ${alert}` } }] };
  }
  const [primary = "", replica = ""] = alert.match(/db-\d/g) ?? [];
  const plan = [
    // In haste: the policy sends it back to measure first.
    { name: "rotate_logs", arguments: { host: primary } },
    { name: "disk_usage", arguments: { host: primary } },
    { name: "rotate_logs", arguments: { host: primary } },
    { name: "replication_lag", arguments: { host: replica } },
    { name: "restart_replica", arguments: { host: replica } },
  ];
  const next = plan[results.length - (opened ? 1 : 0)];
  if (next !== undefined && offered.has(next.name)) return { toolCalls: [next] };
  const done = results.filter(({ name }) => name !== "open_sections").map(({ text }) => text);
  return { output: { summary: `Orders could not be placed: ${primary} was out of disk.`, done } };
}

/** The summaries that share most words with the alert, by what was really sent. */
function fittingSections(system: string, alert: string): readonly string[] {
  const wanted = new Set(wordsOf(alert));
  const sections = [...system.matchAll(/^### .+\n\n(.+)\n\n\(Summary\. Call open_sections with the key "(.+)"/gm)];
  return sections
    .map(([, summary = "", key = ""]) => ({ key, score: wordsOf(summary).filter((word) => wanted.has(word)).length }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, mostSections)
    .map(({ key }) => key);
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[a-z]{4,}/g) ?? [];
}
