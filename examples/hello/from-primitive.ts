import { definePrimitive } from "@proviso/primitive";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

const output = z.object({ label: z.enum(["good", "bad"]) });
// With a key: model: "anthropic/claude-sonnet-4-5" in place of the adapter.
const adapter = modelAdapter(scriptedModel([{ output: { label: "so-so" } }, { output: { label: "good" } }]));
const classify = definePrimitive({ name: "classify", systemPrompt: "Is this text good or bad?", output, adapter });
const result = await classify.run("A fine day.");
console.log(result.success ? result.data.label : `${result.reason}: ${result.error.message}`);
