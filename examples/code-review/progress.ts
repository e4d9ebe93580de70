import type { Deadline, Session, ThrottleKind } from "@proviso/core";
import { printable } from "./text.ts";

export interface Terminal {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** One live line on a terminal, plain lines otherwise. Returns what clears it. */
export function showProgress(session: Session, deadline: Deadline, terminal: Terminal): () => void {
  const live = terminal.isTTY === true;
  let turn = 0;
  let tokens = 0;

  const clear = (): void => void (live && terminal.write("\r\u001b[2K"));
  const keep = (text: string): void => {
    clear();
    terminal.write(`${text}\n`);
  };
  const status = (doing: string): void => {
    const left = `${Math.max(0, deadline.remainingMs() / 1_000).toFixed(0)} s left`;
    const line = [`turn ${turn}`, printable(doing), `${tokens} tokens`, left].join(" · ");
    if (live) terminal.write(`\r\u001b[2K${line.slice(0, (terminal.columns ?? 80) - 1)}`);
    else terminal.write(`${line}\n`);
  };

  session.on("provider.requested", (event) => {
    turn = event.turn;
    if (live) status("asking");
  });
  session.on("provider.throttled", ({ kind, delayMs }) =>
    keep(`${whatHappened[kind]}: ${delayMs === undefined ? "given up" : `waiting ${Math.ceil(delayMs)} ms`}`),
  );
  session.on("provider.responded", ({ usage }) => {
    tokens += usage.totalTokens;
  });
  session.on("tool.requested", (event) => status(`${event.name} ${subject(event.arguments)}`.trim()));
  session.on("tool.invoked", ({ name, result }) => {
    if (!result.success) keep(printable(`  ${name} failed, its changes are undone: ${result.message}`));
  });
  return clear;
}

const whatHappened = {
  rate_limit: "refused (too many requests)",
  quota_exhausted: "refused (quota exhausted)",
  timeout: "no answer in time",
  server_error: "refused (server error)",
  network: "not reached",
  unknown: "no answer",
} as const satisfies Record<ThrottleKind, string>;

/** The path in a call's arguments, if it has one. */
function subject(given: string): string {
  try {
    const { path } = JSON.parse(given) as { readonly path?: unknown };
    return typeof path === "string" ? path : "";
  } catch {
    return "";
  }
}
