export type Visibility = "full" | "summary";
