import type { AppEvent, FrameworkEvent, Message, ToolCall } from "@proviso/core";
import type { Transaction } from "../transactions/transaction.ts";
import type { Observers } from "./observers.ts";

/** How an evaluation calls its observers. */
export interface Observing extends Pick<Observers, "takesEvents" | "uses" | "takesChanges" | "surrounds"> {
  event(event: FrameworkEvent): void;
  app(event: AppEvent): void;
  /** Reports calls that are undone or committed next. Left out: all of the transaction that were not reported. */
  changed(transaction: Transaction, undone: boolean, calls?: readonly string[]): void;
  /** Runs one attempt of a request inside the surroundings of the observers; at once where these wait for nothing. */
  aroundRequest<T>(attempt: number, messages: readonly Message[], work: () => T | Promise<T>): T | Promise<T>;
  /** Runs the policies and the handler of a call inside the surroundings of the observers; at once as above. */
  aroundCall<T>(call: ToolCall, work: () => T | Promise<T>): T | Promise<T>;
}
