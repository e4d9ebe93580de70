import { z } from "zod";
import { allow, definePolicy, defineTool, type Tool, type ToolPolicy } from "@proviso/core";

export function tool(name: string): Tool {
  return defineTool({ name, description: `Does ${name}.`, input: z.object({}), execute: () => undefined }) as Tool;
}

export function policy(name: string): ToolPolicy {
  return definePolicy({ name, check: () => allow() });
}
