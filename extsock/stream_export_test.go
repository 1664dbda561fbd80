package extsock

// RaceEnabled tells the tests of package extsock_test that the race detector runs.
const RaceEnabled = raceEnabled
