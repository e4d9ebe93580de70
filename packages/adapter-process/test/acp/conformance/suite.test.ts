import { describeAdapter } from "@proviso/adapter-kit/conformance";
import { inject } from "vitest";
import { leftOut } from "../../support/left-out.ts";
import { startScriptedAgent } from "../scripted-agent.ts";

const asInProcess = "PRO-1 the same events, messages and state as in process";

const skips: Readonly<Record<string, readonly string[]>> = {
  "an agent replays its conversation to its own model": [
    "LOOP-2 arguments are replayed byte for byte",
    "LOOP-2 arguments are replayed with the white space",
  ],
  "an agent chooses its tools itself": ["TOOL-9"],
  "a call over MCP has no id of the model's": ["TOOL-6", "SEC-2"],
  "a call over MCP has its arguments as an object, not as text": [
    "LOOP-5 an answer that is cut inside arguments",
    "TOOL-1",
    `${asInProcess}, with tools: calls that work`,
  ],
  "an agent's work is one turn, however often it asks its model": [
    "LIM-4",
    "LOOP-6 usage is summed",
    "STR-1 the deltas of each turn",
    "VIS-3",
    `${asInProcess}, with tools: the same id`,
    `${asInProcess}, with tools: a failure after a tool`,
  ],
  "a turn that failed is not asked again: that would repeat its tools": [
    "THR-1 a passing failure",
    "THR-1 a connection",
    "THR-6 it gives up",
    "THR-7",
    "THR-9",
    `${asInProcess}: refusals`,
  ],
  "an agent's requests are its own affair: none is limited or reserved": ["LIM-5", "LIM-10"],
  "what an agent refuses has no headers": ["THR-3", "THR-1 ERR-2"],
  "the protocol has no content filter": ["LOOP-5 a refusal, a filter", `${asInProcess}: a filtered answer`],
  "what is no message of the protocol is a ProcessError": ["LOOP-5 a body that is none"],
  "the error says which agent refused": [
    `${asInProcess}: an exhausted quota`,
    `${asInProcess}: a bad request`,
    `${asInProcess}: a context`,
    `${asInProcess}: a wrong key`,
  ],
  "a refusal is sent as text, so it is emitted as deltas": [`${asInProcess}: a refused answer`],
};
const skip = Object.entries(skips).flatMap(([why, rules]) => rules.map((rule) => ({ rule, why })));

describeAdapter("acpAgent", {
  skip: inject("exhaustive") ? skip : [...skip, ...leftOut],
  ways: inject("exhaustive") ? ["evaluate", "stream"] : ["stream"],
  start: startScriptedAgent,
});
