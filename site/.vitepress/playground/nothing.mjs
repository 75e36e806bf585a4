// In the place of modules that are never used there.
export default {};
