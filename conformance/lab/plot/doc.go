// Package plot draws figures of lines as SVG, with gonum's library: axes with titles, error bars,
// and several small charts with the same axes if one would have too many lines.
package plot
