import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";

const adapter = modelAdapter(scriptedModel([{ text: "Ahoy!" }]));
const { output } = await adapter.evaluate("Greet a sailor.");
console.log(output);
