// Runs fast-check with a fixed seed: the same cases in each run, so that no run depends on luck. PROPERTY_SEED draws
// others.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 1) });

export default fc;
