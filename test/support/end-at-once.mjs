// Ends a worker of Jest as soon as nothing is left to do. Node would free its modules first, for half a second and more.
// A worker that leaks is still reported, because a timer or a socket keeps it from getting here.
if (process.send) process.once('beforeExit', () => process.exit());
