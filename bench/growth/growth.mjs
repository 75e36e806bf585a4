export async function runGrowth() {}
