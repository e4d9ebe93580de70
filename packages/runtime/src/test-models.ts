/** The names of the models in `/testing`. */
export const testModels = { scripted: "scripted-model", failing: "failing-model" } as const;
