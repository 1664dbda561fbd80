// Package hostile contains only tests. They are hostile peers, and they show what happens to
// connections that are cut at every byte, flooded, killed or left half-way. The tests print their
// figures. With the build tag conformance they run in full; without it they take seconds.
package hostile
