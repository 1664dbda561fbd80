// The offsets of the rows of fold (fold.go) in bytes, by the number of bits over which a row folds.
#define ROW3968 0
#define ROW2944 16
#define ROW2432 32
#define ROW2048 48
#define ROW1536 64
#define ROW1280 80
#define ROW1024 96
#define ROW768  112
#define ROW640  128
#define ROW512  144
#define ROW384  160
#define ROW256  176
#define ROW128  192
