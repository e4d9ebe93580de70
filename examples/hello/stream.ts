import { definePrompt } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

const poem = definePrompt({ key: "poem", output: z.object({ lines: z.array(z.string()) }), text: "Write a poem." });
const adapter = modelAdapter(scriptedModel([{ output: { lines: ["Roses are red", "Violets are blue"] } }]));
const stream = adapter.stream(poem.bind());
for await (const event of stream) {
  if (event.type === "output.delta") console.log(event.partial.lines?.length ?? 0, "lines so far");
}
console.log((await stream.response).output.lines.join(" / "));
