// Lets V8 optimize a function after four times the default amount of work. Most functions of a test file end before they
// earn back the time of the compiler. That takes the second core from another worker.
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--interrupt-budget=270336');
