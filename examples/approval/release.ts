import { definePrompt, defineTool } from "@proviso/core";
import type { AnswerStep, SimulatedRequest } from "@proviso/simulator";
import { z } from "zod";

/** The prompt; what is deployed is passed on. */
export function releasePrompt(deployed: (what: string) => void) {
  const deploy = defineTool({
    name: "deploy",
    description: "Deploy a version.",
    input: z.object({ version: z.string(), to: z.enum(["staging", "production"]) }),
    execute({ version, to }) {
      deployed(`${version} to ${to}`);
      return `${version} is on ${to}`;
    },
  });
  return definePrompt({
    ns: "examples",
    key: "release",
    sections: [
      { key: "task", text: "Release what was tested.", tools: [deploy] },
      { key: "request", text: "Release 1.4.", role: "user" },
    ],
  });
}

/** Stands in for a model: wants to deploy, then answers with what it was told. */
export function simulatedRelease({ toolResults }: SimulatedRequest): AnswerStep {
  const told = toolResults().at(-1)?.text;
  if (told !== undefined) return { text: told };
  return { toolCalls: [{ name: "deploy", arguments: { version: "1.4", to: "production" } }] };
}
