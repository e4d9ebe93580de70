// Small parts that several views share.
import type { RunSummary, Usage } from "@proviso/core";
import { useEffect, useState } from "preact/hooks";
import { costOf, count, oneLine } from "./shown.ts";

/** Loads what a view shows, and again when what it depends on changes. Returns why that failed. */
export function useLoading(load: (signal: AbortSignal) => Promise<void>, on: readonly unknown[]): string | undefined {
  const [fault, setFault] = useState<string | undefined>(undefined);
  useEffect(() => {
    const ending = new AbortController();
    load(ending.signal).then(
      () => setFault(undefined),
      (error: unknown) => {
        if (!ending.signal.aborted) setFault(error instanceof Error ? error.message : String(error));
      },
    );
    return () => ending.abort();
  }, on);
  return fault;
}

export function Fault({ of }: { readonly of: string | undefined }) {
  if (of === undefined) return null;
  return (
    <p class="fault" role="alert">
      {oneLine(of)}
    </p>
  );
}

export function Live({ isLive }: { readonly isLive: boolean }) {
  return (
    <span class={isLive ? "live" : "live off"} role="status">
      {isLive ? "live" : "not connected"}
    </span>
  );
}

export function Status({ of }: { readonly of: RunSummary["status"] }) {
  return <span class={`status ${of}`}>{of}</span>;
}

export function Bar(props: { readonly label: string; readonly text: string; readonly part: number }) {
  const { label, text, part } = props;
  const value = Math.min(1, Math.max(0, part));
  return (
    <span class="limit">
      {label}
      <meter aria-label={label} min={0} max={1} value={value} title={text} />
      {text}
    </span>
  );
}

export function TokensOf({ usage }: { readonly usage: Usage }) {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens, costUsd, estimated } = usage;
  const cost = costUsd === undefined ? "" : `, $ ${costOf(usage)}`;
  return (
    <span>
      {count(inputTokens)} in ({count(cachedInputTokens)} cached), {count(outputTokens)} out ({count(reasoningTokens)}{" "}
      reasoning){cost}
      {estimated && ", estimated"}
    </span>
  );
}
