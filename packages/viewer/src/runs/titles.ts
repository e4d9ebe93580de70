// What a line says. Texts are others': they are cut here, and escaped where they are shown.
import type { FrameworkEvent, PromptRendered, ProviderThrottled } from "@proviso/core";

const longest = 200;

/** Returns the first line of a text, cut where it is long. */
export function firstLine(text: string): string {
  const line = text.trimStart().split(/[\r\n]/, 1)[0] ?? "";
  return cut(line);
}

export function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

export function shownJson(value: unknown): string {
  return cut(typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined"));
}

export function promptTitle({ promptName, sections, overrides }: PromptRendered): string {
  const count = sections.length === 1 ? "1 section" : `${sections.length} sections`;
  const applied = overrides?.applied.length ?? 0;
  return applied === 0 ? `${promptName}, ${count}` : `${promptName}, ${count}, ${applied} overridden`;
}

export function waitTitle({ kind, delayMs, retryAfterMs }: ProviderThrottled): string {
  if (delayMs === undefined) return `${kind}, given up`;
  const asked = retryAfterMs === undefined ? "" : ` (Retry-After ${seconds(retryAfterMs)})`;
  return `${kind}, ${seconds(delayMs)} s${asked}`;
}

/** Returns the title of a line for an event that stands for itself; undefined: the event belongs to another line. */
export function noticeTitle(event: FrameworkEvent): string | undefined {
  switch (event.type) {
    case "sections.opened": {
      const closed =
        event.closed === undefined || event.closed.length === 0 ? "" : `, closed ${event.closed.join(", ")}`;
      return cut(`${event.keys.join(", ")}${closed}: ${event.reason}`);
    }
    case "feedback.given":
      return cut(`${event.provider}: ${firstLine(event.text)}`);
    case "history.compacted":
      return `history shortened, ${event.before} to ${event.after} tokens`;
    case "evaluation.restarted":
      return cut(`begins again after ${event.code}, with ${event.provider} ${event.model}`);
    case "run.resumed":
      return `goes on, attempt ${event.attempt}, ${event.keptSteps} steps kept`;
    case "run.suspended":
      return cut(`waits for a decision on ${event.name}: ${firstLine(event.question)}`);
    case "transaction.failed":
      return cut(`${event.operation} failed: ${firstLine(event.message)}`);
    case "prompt.rendered":
    case "provider.requested":
    case "provider.throttled":
    case "provider.responded":
    case "provider.tool":
    case "text.delta":
    case "text.reset":
    case "output.delta":
    case "reasoning.delta":
    case "tool.requested":
    case "tool.progress":
    case "tool.invoked":
    case "prompt.executed":
    case "prompt.failed":
      return undefined;
  }
}

function seconds(ms: number): string {
  return String(Math.round(ms / 100) / 10);
}
