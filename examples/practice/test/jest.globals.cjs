// Jest hands these out only where they are asked for by this name.
module.exports = require('@jest/globals');
