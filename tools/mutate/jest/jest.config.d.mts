export const inMemory: { testEnvironmentOptions: { env: Record<string, string> } };
