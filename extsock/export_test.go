package extsock

// RaceEnabled says that the race detector is on.
const RaceEnabled = raceEnabled
