import { describeAdapter } from "@proviso/adapter-kit/conformance";
import { inject } from "vitest";
import { leftOut } from "../support/left-out.ts";
import { startScriptedCommand } from "../support/scripted-command.ts";

const asInProcess = "PRO-1 the same events, messages and state as in process";
const noStatus = [
  "LOOP-3 what failed on its second turn",
  "LOOP-7 one adapter for several evaluations",
  "LOOP-9 with tools: what was refused",
  "CTX-8",
  "SEC-1 a key that the service repeats",
  "THR-1 a passing failure",
  "THR-1 ERR-2",
  "THR-3",
  "THR-5",
  "THR-1 THR-6 what is not to be asked again",
  "THR-6 it gives up",
  "THR-1 THR-6 what is not to be asked again",
  `${asInProcess}: refusals`,
  `${asInProcess}: an exhausted quota`,
  `${asInProcess}: a bad request`,
  `${asInProcess}: a context`,
  `${asInProcess}: a wrong key`,
  `${asInProcess}, with tools: a failure after a tool`,
].map((rule) => ({ rule, why: "a command has no status to refuse with: it exits, which is a ProcessError" }));
const notAskedAgain = ["THR-1 a connection that fails", "THR-7", "THR-9"].map((rule) => ({
  rule,
  why: "what a command breaks off is not asked for again",
}));
const unlimited = { rule: "LIM-10", why: "a command takes no limit for the length of its answer" };
const atOnce = { rule: "STR-1 stream asks for a stream", why: "the text is emitted when the command has ended" };

describeAdapter("commandLine", {
  ways: inject("exhaustive") ? ["evaluate", "stream"] : ["evaluate"],
  skip: [...noStatus, ...notAskedAgain, unlimited, atOnce, ...(inject("exhaustive") ? [] : leftOut)],
  start: startScriptedCommand,
});
