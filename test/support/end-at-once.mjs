// Ends a worker of Jest as soon as nothing is left to do. Node would free its modules first. That takes longer than the
// 500 ms that Jest waits before it kills the worker and reports a leak. A worker that does leak is still reported, as a
// timer or a socket keeps it from getting here.
if (process.send) process.once('beforeExit', () => process.exit());
