export function wordFaults(text: string): readonly string[];
export function commentFaults(text: string): readonly string[];
export function nameFaults(name: string): readonly string[];
